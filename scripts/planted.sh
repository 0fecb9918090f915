#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make planted: each bug of selftests/planted must be found by the test that it names. See -h.
# shellcheck disable=SC2317 # start_job and with_lock call functions
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/planted.sh
. "$TOP/scripts/lib/planted.sh"
at_exit end_jobs

OUT=$BUILD/planted
LIMIT=240 # seconds for one test
BOOT=180  # and for its boot

usage() {
	cat <<-EOF
		Usage: scripts/planted.sh [-l] [GROUP | GROUP/BUG]...

		Builds the module for uml-checked with each of these bugs, one at a time, and runs the test that the bug
		names: it must fail, in the case that the bug names. Without arguments all bugs are planted.
		  -l  do not run, but list: each bug and its test

		Prints TAP. Logs are in $OUT/GROUP/BUG.
	EOF
}

# build_bugs BUG...: one after the other, while guests run those that are built
build_bugs() {
	local bug
	for bug; do
		with_lock "layer-checked-$BUILD_ID" planted_build "$bug" "$OUT/$bug" >"$OUT/$bug/build.log" 2>&1 ||
			: >"$OUT/$bug/failed"
		: >"$OUT/$bug/built"
	done
}

# boot_test BUG: run the bug's test in a guest, with the module that has the bug
boot_test() {
	local dir=$OUT/$1
	mkdir "$dir/share" "$dir/console"
	cp "$TOP/scripts/guest/run-tests" "$dir/softmr.ko" "$dir/share"
	echo "$TEST $LIMIT $ARGUMENTS" >"$dir/share/next.1"
	: >"$dir/share/end"
	# shellcheck disable=SC2046,SC2016 # words are meant; the guest's shell expands it
	"$TOP/scripts/uml-boot.sh" --no-build --flavour checked --cpus 2 --share "$dir/share" --log "$dir/console" \
		--timeout $((LIMIT + BOOT)) --cmdline "sysctl.net.core.netdev_unregister_timeout_secs=30" -- \
		env $(planted_value "$1" set) bash -c 'mount --bind /mnt/share/softmr.ko \
			"/usr/lib/modules/$(uname -r)/updates/softmr.ko" && bash /mnt/share/run-tests "$0"' "/$SELFTESTS_DIR" \
		>"$dir/out" 2>&1 </dev/null
}

# sign_of BUG: print the first line that shows that the test has found the bug, or nothing
sign_of() {
	grep -shaE -m 1 -e "$SIGN" -- "$OUT/$1/share/$TEST.1.log" "$OUT/$1/share/$TEST.1.dmesg" "$OUT/$1"/console/* |
		sed -n 1p || true
}

# run_test BUG: until the test has found the bug, or ends
run_test() {
	start_job boot_test "$1"
	# shellcheck disable=SC2154 # start_job sets it
	while kill -0 "$job" 2>/dev/null; do
		if [ "$(sign_of "$1")" ]; then kill -- "-$job" 2>/dev/null || true; fi
		sleep 0.5
	done
	wait "$job" || true
}

# try_bug NUMBER BUG: print a line of TAP
try_bug() {
	local number=$1 bug=$2 dir=$OUT/$2 begin found
	until [ -e "$dir/built" ]; do sleep 0.2; done
	if [ -e "$dir/failed" ]; then
		echo "not ok $number $bug: the module with it was not built"
		tail -n 5 "$dir/build.log" | sed 's/^/# /'
		return 1
	fi
	begin=$SECONDS
	planted_test "$bug"
	run_test "$bug"
	found=$(sign_of "$bug")
	if [ "$found" ]; then
		rm "$dir/softmr.ko" "$dir/share/softmr.ko"
		echo "ok $number $bug: found by $(planted_value "$bug" test)"
		echo "# in $((SECONDS - begin)) s: $(cut -c 1-150 <<<"$found")"
		return
	fi
	echo "not ok $number $bug: not found by $(planted_value "$bug" test)"
	echo "# in $((SECONDS - begin)) s; what was looked for is $SIGN, and the logs are in $dir"
	cat "$dir/share/$TEST.1.log" "$dir/out" 2>/dev/null | tail -n 12 | sed 's/^/# /'
	return 1
}

LIST=
while getopts 'lh' option; do
	case $option in
	l) LIST=1 ;;
	h)
		usage
		exit
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
done
shift $((OPTIND - 1))
BUGS=()
for name in "${@:-*}"; do
	if [ -f "$PLANTED/$name" ]; then
		BUGS+=("$name")
	else
		mapfile -t -O "${#BUGS[@]}" BUGS < <(planted_bugs "$name")
	fi
done
[ -f "$PLANTED/${BUGS[0]}" ] || die 2 "there is no bug and no group '$*'; there are: $(planted_bugs | tr '\n' ' ')"
if [ "$LIST" ]; then
	for bug in "${BUGS[@]}"; do echo "$bug $(planted_value "$bug" test)"; done
	exit
fi

prepare() { host_require uml && build_layer_with_tests uml && build_uml_layer checked; }
prepare || die 1 "what the guests boot from could not be made"
for bug in "${BUGS[@]}"; do
	rm -rf "${OUT:?}/$bug"
	mkdir -p "$OUT/$bug"
done
start_job build_bugs "${BUGS[@]}"
echo "TAP version 13"
echo "1..${#BUGS[@]}"
failed=0
for i in "${!BUGS[@]}"; do try_bug $((i + 1)) "${BUGS[i]}" || failed=1; done
exit "$failed"
