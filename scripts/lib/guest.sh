# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Guests that take tests one by one, and what becomes of a test's output. A guest has a directory:
#
#   share/    what it sees as /mnt/share, and what scripts/guest/run-tests writes
#   pid       the process that boots it, and the leader of its process group
#   stderr    what that prints, status how it has ended: the guest is gone
#   failed    a test in it has failed
#   count     how many tests it was given

GUEST_SLACK=120 # beyond a test's own limit, for what the guest does around it
GUEST_BOOT=600  # beyond that, for a boot, and a second one
GUEST_LIFE=21600
GUEST_RUNS=(bash /mnt/share/run-tests "/$SELFTESTS_DIR")

# guest_boot DIR COMMAND...: boot a guest in the background by COMMAND OPTION..., which runs scripts/guest/run-tests in it.
# The caller may have put files into DIR/share
guest_boot() {
	local dir=$1
	shift
	[ ! -d "$dir/share/gcov" ] || mv "$dir/share/gcov" "$dir/gcov.$(date +%s)"
	rm -rf "$dir"/{status,stderr,failed,count,log}
	mkdir -p "$dir/share" "$dir/log"
	rm -rf "$dir"/share/{next.*,end,*.status,*.at.*}
	cp "$TOP/scripts/guest/run-tests" "$dir/share"
	# its own session: it outlives the test for which it is booted
	# shellcheck disable=SC2016 # the inner shell expands it
	setsid bash -c 'echo $$ >"$0/pid"; "$@" >"$0/out" 2>"$0/stderr"; echo $? >"$0/status.new"; mv "$0/status.new" "$0/status"' \
		"$dir" "$@" --share "$dir/share" --log "$dir/log" --timeout "$GUEST_LIFE" \
		-- "${GUEST_RUNS[@]}" </dev/null >/dev/null 2>&1 &
	until [ -s "$dir/pid" ] || [ -e "$dir/status" ]; do sleep 0.05; done
}

guest_lives() { [ -s "$1/pid" ] && [ ! -e "$1/status" ] && kill -0 "$(<"$1/pid")" 2>/dev/null; }

# guest_test DIR NODES NAME LIMIT [ARGUMENT...]: hand a test over, and wait for its end on each node. Fails if the guest
# is gone before that. The test's files are in DIR/share
guest_test() {
	local dir=$1 nodes=$2 name=$3 limit=$4 n k end
	n=$(($(cat "$dir/count" 2>/dev/null || echo 0) + 1))
	echo "$n" >"$dir/count"
	rm -f "$dir/share/$name".*
	echo "${*:3}" >"$dir/share/.next"
	mv "$dir/share/.next" "$dir/share/next.$n"
	end=$((SECONDS + limit + GUEST_SLACK + (n == 1 ? GUEST_BOOT : 0)))
	for ((k = 1; k <= nodes; k++)); do
		until [ -e "$dir/share/$name.$k.status" ]; do
			guest_lives "$dir" || [ -e "$dir/share/$name.$k.status" ] || return
			[ "$SECONDS" -lt "$end" ] || guest_kill "$dir"
			sleep 0.2
		done
	done
}

# guest_wait DIR SECONDS: until it is gone
guest_wait() {
	local tries
	for ((tries = 0; tries < 5 * $2; tries++)); do
		guest_lives "$1" || return 0
		sleep 0.2
	done
	return 1
}

guest_kill() {
	kill -TERM -- "-$(<"$1/pid")" 2>/dev/null || true
	guest_wait "$1" 10 || kill -KILL -- "-$(<"$1/pid")" 2>/dev/null || true
	[ -e "$1/status" ] || echo 124 >"$1/status"
}

# guest_end DIR: let it end. Prints what nobody has noticed: a status that no failed test explains
guest_end() {
	local status
	[ -s "$1/pid" ] || return 0
	: >"$1/share/end"
	guest_wait "$1" 60 || guest_kill "$1"
	rm "$1/pid"
	status=$(cat "$1/status" 2>/dev/null || echo 1)
	[ "$status" = 0 ] || [ -e "$1/failed" ] || echo "${1##*/}: the guest ended with status $status: $1/stderr"
}

# -- what becomes of a test's output

# failures: print the failed tests of a log and their diagnostics: a shell test prints them after the line, the harness
# before it
failures() {
	awk -v most=8 '
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
	' | cut -c 1-200
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

# tap_with FAILURE...: the TAP of standard input, with these failures as more tests of it. A failure that is excused as a
# TODO is one, too
tap_with() {
	awk -v more="$#" -v said="$(printf 'not ok - %s\n' "$@")" '
		/^1\.\.[0-9]+/ && plan == "" { plan = $0; next }
		{ sub(/# *[Tt][Oo][Dd][Oo]/, "# to do"); print }
		END {
			if (more) print said
			if (more && plan != "") plan = "1.." (substr(plan, 4) + more)
			if (plan != "") print plan
		}'
}

# tap_counts BAD FILE...: "PASSED FAILED SKIPPED" of all these files. BAD are those of them that prove(1) did not like: of
# such a file that has no failure (a wrong plan, a status) that is one
tap_counts() {
	BAD=$1 awk '
		BEGIN { n = split(ENVIRON["BAD"], bad) }
		/^1\.\.0.*[Ss][Kk][Ii][Pp]/ { skip++ }
		/^ok/ { if (/# *[Ss][Kk][Ii][Pp]/) skip++; else pass++ }
		/^not ok/ { fail++; had[FILENAME] = 1 }
		END {
			for (i = 1; i <= n; i++) if (!(bad[i] in had)) fail++
			print pass + 0, fail + 0, skip + 0
		}' /dev/null "${@:2}"
}
