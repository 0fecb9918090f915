# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Judge a test by its output.

# tap_counts STATUS LOG: "PASSED FAILED SKIPPED WHY". Anything unexplained is a failure: a missing or wrong plan, a
# status that no "not ok" explains, no test at all.
tap_counts() {
	awk -v status="$1" '
		/^1\.\.0/	{ plan = 0; planned = 1; if (tolower($0) ~ /skip/) skipall = 1; next }
		/^1\.\.[0-9]+/	{ plan = substr($1, 4) + 0; planned = 1; next }
		/^ok/		{ n++; if ($0 ~ /# *SKIP/) skip++; else pass++; next }
		/^not ok/	{ n++; fail++; next }
		/^Bail out!/	{ fail++; bailed = 1 }
		END {
			if (skipall && !n) { print 0, (status != 0 && status != 4), 1; exit }
			if (status == 4 && !n) { print 0, 0, 1; exit }
			if (n == 0) why = "it reported no test"
			else if (!planned && !bailed) why = "it printed no plan"
			else if (planned && n != plan) why = "it planned " plan " tests and reported " n
			else if (status != 0 && !fail) why = "no test failed, but it did"
			print pass + 0, fail + (why != ""), skip + 0, why
		}' "$2" 2>/dev/null || echo "0 1 0 it left no log"
}

# failures: print the failed tests of a log and their diagnostics: a shell test prints them after the line, the harness
# before it
failures() {
	awk -v most=8 '
		/^# run-tests:/	{ print; next }
		/^not ok/	{
			for (i = n > most ? n - most : 0; i < n; i++) print said[i]
			print
			n = 0
			after = most
			next
		}
		/^# +RUN /	{ n = after = 0; next }
		/^# / && after	{ print; after--; next }
		/^# /		{ said[n++] = $0; next }
				{ n = after = 0 }
	'
}

# Add the reason to the log itself if the test did not print one
explain_status() {
	case $1 in
	0 | 4) ;;
	124 | 137) echo "# run-tests: it was still running at its time limit, and was ended" ;;
	*) echo "# run-tests: exit status $1" ;;
	esac
}

# skips_told TABLE BED NAME LOG: compare the skips of a test with its rows in the table, and print the differences: a
# skip without a row, a row without a skip. selftests/skips explains the rows.
skips_told() {
	awk -v bed="$2" -v name="$3" '
		function pattern(text) {
			gsub(/[][\\.^$+?(){}|]/, "\\\\&", text)
			gsub(/\*/, ".*", text)
			return "^" text "$"
		}
		function is_of(beds,  i, n, part) {
			n = split(beds, part, ",")
			for (i = 1; i <= n; i++) if (bed ~ pattern(part[i])) return 1
			return 0
		}
		FILENAME == ARGV[1] {
			if (/^#/ || !NF) next
			may = sub(/^\?/, "")
			if ($2 != name || !is_of($1)) next
			sub(/^[^ ]+ +[^ ]+ +/, "")
			row[++rows] = $0
			optional[rows] = may
			next
		}
		/^(ok|1\.\.0).*# *SKIP/ {
			sub(/.*# *SKIP */, "")
			for (i = 1; i <= rows; i++) if ($0 ~ pattern(row[i])) { seen[i] = 1; next }
			if (!told[$0]++) print "skipped without a row in selftests/skips: " $0
		}
		END {
			for (i = 1; i <= rows; i++) if (!seen[i] && !optional[i]) print "selftests/skips has a row that is not true: " row[i]
		}' "$1" "$4"
}

# judge_test LOGS-DIR NAME STATUS NODES: node 1 must print TAP; other nodes may. A splat fails the test.
judge_test() {
	local dir=$1 name=$2 status=$3 nodes=$4 node log counts p=0 f=0 s=0 a b c why
	for ((node = 1; node <= nodes; node++)); do
		log=$dir/$name.$node.log
		[ "$node" = 1 ] || status=0
		explain_status "$status" >>"$log"
		if [ "$node" = 1 ] || grep -q '^1\.\.' "$log" 2>/dev/null; then
			counts=$(tap_counts "$status" "$log")
			read -r a b c why <<<"$counts"
			[ -z "$why" ] || echo "# run-tests: $why" >>"$log"
			p=$((p + a)) f=$((f + b)) s=$((s + c))
		fi
		if splat_lines "$dir/$name.$node.dmesg" >"$dir/.splat.$name"; then
			{
				echo "# run-tests: the kernel printed this:"
				sed 's/^/# run-tests: /' "$dir/.splat.$name" | head -n 5
				cat "$dir/$name.$node.dmesg"
			} >>"$log"
			f=$((f + 1))
		fi
	done
	rm -f "$dir/.splat.$name"
	echo "$p $f $s"
}
