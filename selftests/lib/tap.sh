# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# TAP on standard output. A failed assertion shows its output as diagnostics. Each assertion runs in the test's own
# shell, so variables that it sets keep their values.

TAP_COUNT=0
TAP_FAILED=0
TAP_FINISHED=
TAP_CLEANUP=()
WORK=$(mktemp -d "${TMPDIR:-/tmp}/softmr-test.XXXXXX")

diag() { printf '# %s\n' "${*//$'\n'/$'\n'# }"; }

ok() {
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "ok $TAP_COUNT $1"
}

# not_ok DESCRIPTION [FILE...]: a failure, with the last lines of each file
not_ok() {
	local file
	TAP_COUNT=$((TAP_COUNT + 1))
	TAP_FAILED=$((TAP_FAILED + 1))
	echo "not ok $TAP_COUNT $1"
	for file in "${@:2}"; do
		# the last line may have no end, which the next result needs
		[ -s "$file" ] && tail -n 50 "$file" | sed -e "s|^|# ${file##*/}: |" -e "\$a\\"
	done
	return 0
}

# report STATUS DESCRIPTION: a result: STATUS is that of a command whose output is in $WORK/out
report() { if [ "$1" = 0 ]; then ok "$2"; else not_ok "$2" "$WORK/out"; fi; }

skip() {
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "ok $TAP_COUNT $1 # SKIP $2"
}

# skip_all WHY: skip the whole test, and end
skip_all() {
	echo "1..0 # SKIP $1"
	tap_done 4
}

# check DESCRIPTION COMMAND...: COMMAND must succeed
check() {
	local what=$1
	shift
	if "$@" >"$WORK/check" 2>&1; then
		ok "$what"
	else
		not_ok "$what" "$WORK/check"
		return 1
	fi
}

# setup_ok DESCRIPTION COMMAND...: COMMAND must succeed. A step of the set-up is no test, so only its failure is a result
setup_ok() {
	"${@:2}" >"$WORK/check" 2>&1 || {
		not_ok "$1" "$WORK/check"
		return 1
	}
}

# check_error DESCRIPTION TEXT COMMAND...: COMMAND must fail, and its output match TEXT, an extended regular expression
check_error() {
	local what=$1 text=$2
	shift 2
	if "$@" >"$WORK/check" 2>&1; then
		echo "it succeeded" >>"$WORK/check"
	elif grep -qE -- "$text" "$WORK/check"; then
		ok "$what"
		return
	else
		echo "expected: $text" >>"$WORK/check"
	fi
	not_ok "$what" "$WORK/check"
	return 1
}

# tap_include FILE: report the results of another test, whose TAP is in FILE, as results of this one
tap_include() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "${line#ok * }" ;;
		'not ok '*) not_ok "${line#not ok * }" ;;
		'#'*) printf '%s\n' "$line" ;;
		esac
	done <"$1"
}

is() { [ "$1" = "$2" ] || { echo "got '$1', expected '$2'"; return 1; }; }

# nap SECONDS: as sleep, but starts no process
exec {NAP}<> <(:)
nap() { read -rt "$1" -u "$NAP" || true; }

# On a busy machine things take longer. Time limits are those of a quiet machine, multiplied by this
PATIENCE=3

# within SECONDS COMMAND...: try COMMAND again and again until it succeeds. Fails when the time, that of a quiet
# machine, is over
within() {
	local end=$((SECONDS + PATIENCE * $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		nap 0.05
	done
}

# not_running PID: it has ended, also if bash has not seen that yet
not_running() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*) } = Z* ]]
}

# on_exit COMMAND...: run COMMAND at the end of the test; the last one first
on_exit() {
	local command
	printf -v command '%q ' "$@"
	TAP_CLEANUP+=("$command")
}

# clean_up KEEP: run the commands that on_exit collected, except the first KEEP
clean_up() {
	local i
	for ((i = ${#TAP_CLEANUP[@]} - 1; i >= $1; i--)); do
		eval "${TAP_CLEANUP[i]}" >/dev/null 2>&1
		unset "TAP_CLEANUP[i]"
	done
}

tap_exit() {
	local status=$?
	trap '' INT TERM
	clean_up 0
	rm -rf "$WORK"
	[ -n "$TAP_FINISHED" ] || echo "Bail out! the script ended early, with status $status"
}

# finish: print the plan, and end the test. The plan comes last: a test that dies has none, and so has failed
finish() {
	echo "1..$TAP_COUNT"
	tap_done $((TAP_FAILED != 0))
}

# tap_done STATUS: exit at a place where the script may end
tap_done() {
	TAP_FINISHED=1
	exit "$1"
}

trap tap_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
