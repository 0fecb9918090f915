#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make arm64: build module and provider for arm64 on this machine, and run them in QEMU. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

KERNELS=() TESTS=() BUILD_ONLY='' LOG_DIR=$BUILD/arm64/logs COUNT=0 FAILED=0

usage() {
	cat <<-EOF
		Usage: scripts/arm64.sh [--kernel ROLE]... [--tests "TEST..."] [--build-only] [--log DIR]

		Builds module and provider for arm64, boots Debian's arm64 kernel in QEMU and runs ibv_rc_pingpong and
		its sisters there. Says TAP on standard output. Nothing but the boot runs code of arm64.

		  --kernel ROLE   which kernel: ${ARM64_ROLES[*]} (default: newest stable newest-16k;
		                  -16k: the kernel that has pages of 16 KiB)
		  --tests TESTS   run these tests of selftests/*.c there, too, such as "data cq"
		  --build-only    do not boot
		  --log DIR       where console and report of each boot go (default $LOG_DIR)
		  --help          this

		SOFTMR_ARM64_CPU is QEMU's -cpu (default max), SOFTMR_ARM64_LIMIT how long one boot may take (default 300 s).
		Exit status: 0 if all tests passed, 1 if not, 2 for bad usage.
	EOF
}

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage && exit 0 ;;
		--build-only) BUILD_ONLY=1 ;;
		--kernel | --tests | --log)
			[ $# -ge 2 ] || die 2 "$1 needs a value"
			parse_value "$1" "$2"
			shift
			;;
		*) die 2 "unknown argument $1 (see --help)" ;;
		esac
		shift
	done
	[ "${#KERNELS[@]}" != 0 ] || KERNELS=(newest stable newest-16k)
}

parse_value() {
	local test
	case $1 in
	--kernel) add_kernel "$2" ;;
	--log) LOG_DIR=$2 ;;
	--tests)
		read -ra TESTS <<<"$2"
		for test in ${TESTS[@]+"${TESTS[@]}"}; do
			[ -e "$TOP/selftests/$test.c" ] || die 2 "--tests: there is no selftests/$test.c"
		done
		;;
	esac
}

add_kernel() {
	[[ " ${ARM64_ROLES[*]} " == *" $1 "* ]] || die 2 "--kernel: there is no '$1'; there are: ${ARM64_ROLES[*]}"
	KERNELS+=("$1")
}

# result STATUS WHAT [FILE]: print a test's line; if the test failed, with the end of FILE
result() {
	COUNT=$((COUNT + 1))
	if [ "$1" = 0 ]; then
		echo "ok $COUNT $2"
	else
		echo "not ok $COUNT $2"
		FAILED=1
		[ -z "${3-}" ] || tail -n 30 "$3" | tr -d '\r' | sed 's/^/# /'
	fi
	return "$1"
}

# report WHAT COMMAND...
report() {
	local what=$1 status=0
	shift
	"$@" || status=$?
	result "$((status != 0))" "$what"
}

# guest_results ROLE DIR: the guest's own tests, renumbered. A guest that reported no plan, or fewer tests than planned,
# has died.
guest_results() {
	local role=$1 dir=$2 line plan='' n=0
	while IFS= read -r line; do
		case $line in
		'ok '*) n=$((n + 1)) && result 0 "$role: ${line#ok * }" ;;
		'not ok '*) n=$((n + 1)) && { result 1 "$role: ${line#not ok * }" || true; } ;;
		'#'*) echo "$line" ;;
		1..*) plan=${line#1..} ;;
		esac
	done <"$dir/report"
	result "$((n == 0 || n != ${plan:-0}))" "$role: the guest ran all of its tests" "$dir/console" || true
}

# boot ROLE
boot() {
	local role=$1 dir=$LOG_DIR/$1 status=0
	say "  BOOT  arm64, $role kernel $(arm64_release "$role"); console: $dir/console"
	arm64_boot "$role" "$dir" & JOBS+=("$!")
	wait "$!" || status=$?
	JOBS=()
	guest_results "$role" "$dir"
	result "$((status != 0))" "$role: the guest switched itself off" "$dir/qemu" || true
	splat_lines "$dir/console" >"$dir/splats" || true
	result "$([ ! -s "$dir/splats" ] && echo 0 || echo 1)" "$role: its kernel printed no splat" "$dir/splats" || true
}

# kernel ROLE: all steps for one kernel
kernel() {
	local role=$1
	if ! with_lock arm64 arm64_kernel_make "$role"; then
		result 1 "$role: the archive has the kernel" || true
		return
	fi
	say "  ARM64 $(grep "^$role " "$ARM64/kernels")"
	report "$role: the module builds without a warning" arm64_build_module "$role" || return 0
	if [ "$BUILD_ONLY" ] || [ "$PROVIDER" != 0 ]; then return 0; fi
	report "$role: what the guest boots from can be made" arm64_build_guest "$role" ${TESTS[@]+"${TESTS[@]}"} || return 0
	boot "$role"
}

parse "$@"
at_exit end_jobs
# shellcheck disable=SC2119 # no bed is needed
host_require || exit 1
with_lock arm64 arm64_make || die 1 "what arm64 is built with could not be made"
echo "TAP version 13"
PROVIDER=0
report "the provider builds without a warning" arm64_build_provider || PROVIDER=$?
if [ "${#TESTS[@]}" != 0 ]; then report "the tests build" arm64_build_selftests || TESTS=(); fi
for role in "${KERNELS[@]}"; do kernel "$role"; done
echo "1..$COUNT"
exit "$FAILED"
