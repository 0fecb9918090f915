# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Tests that run for any time: make fuzz, make soak.

LONG_BOOT=300

# With LEAKS=1, kmemleak is on, and scans at the end, after the module is removed. It needs one processor
LEAKS=''
# shellcheck disable=SC2016 # the guest's shell expands it
LEAK_CHECK='s=$?; modprobe -r softmr || s=1; f=/sys/kernel/debug/kmemleak
for i in 1 2; do sleep 3; echo scan >$f || s=1; done; if grep "" $f; then s=1; else echo "# found no leak"; fi; exit $s'

# A running guest touches a file every BEAT seconds. A guest that has not done so for STILL seconds is dead, whatever
# its process does. It forks no process for that, because a fuzzer makes allocations fail
BEAT=5
STILL=240

# is_still FILE
is_still() { [ -e "$1" ] && [ $(($(date +%s) - $(stat -c %Y "$1"))) -gt "$STILL" ]; }

# watch_guest PID FILE: wait for a guest, and kill it if it is dead
watch_guest() {
	local pid=$1 beat=$2
	while kill -0 "$pid" 2>/dev/null; do
		if is_still "$beat"; then
			warn "the guest has stood still for $STILL seconds, and is ended"
			kill -- "-$pid"
			break
		fi
		sleep "$BEAT"
	done
	wait "$pid"
}

# run_long DIR TEST SECONDS NAME=VALUE...: run a test on uml-checked with these variables. Its output goes to
# DIR/TEST.log, and the kernel's to DIR/TEST/; its numbers and its findings are printed. Fails if the test fails, if the
# kernel prints a splat, or if the guest stops. The caller has called at_exit end_jobs.
run_long() {
	local dir=$1 name=$2 length=$3 status=0 leaks='' cpus=2 beats
	shift 3
	mkdir -p "$dir"
	rm -f "$dir/$name.beat"
	say "  RUN   $name, $(elapsed "$length")"
	[ ! "$LEAKS" ] || leaks=kmemleak=on cpus=1
	beats="(exec {never}<> <(:); while :; do : >/mnt/share/$name.beat; read -rt $BEAT -u \$never; done) & trap 'kill \$!' EXIT"
	start_job "$TOP/scripts/uml-boot.sh" --flavour checked --share "$dir" --log "$dir/$name" \
		--timeout $((2 * length + LONG_BOOT)) --cpus "$cpus" \
		--cmdline "$leaks sysctl.net.core.netdev_unregister_timeout_secs=30" \
		-- env "$@" bash -c "$beats; cd /$SELFTESTS_DIR; stdbuf -oL ./$name${LEAKS:+; $LEAK_CHECK}" >"$dir/$name.log"
	# shellcheck disable=SC2154 # start_job sets it
	watch_guest "$job" "$dir/$name.beat" || status=$?
	rm -f "$dir/$name.beat"
	grep -E "^# (found|$name|the seed)|^not ok" "$dir/$name.log" || true
	[ "$status" = 0 ] || warn "$name: status $status; logs: $dir/$name.log, $dir/$name"
	return "$status"
}

# need_seconds OPTION VALUE
need_seconds() { [[ $2 =~ ^[1-9][0-9]*$ ]] || die 2 "$1 takes seconds, not '$2'"; }
