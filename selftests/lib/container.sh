# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A container of namespaces without privileges, in which softmr-run runs, and what a run said. Sourced by a bed's test after
# tap.sh.
#
#   ROOT         the container's root, a directory of this machine
#   RUN_RUNTIME  what it has at /build: the runtime of softmr-run
#   SHARED       what it has at /mnt/share
#   SHM_OPTIONS  of the file system at /dev/shm; "none": there is none
#   TMP_OPTIONS  ro: /tmp cannot be written to

# shellcheck disable=SC2034 # for the tests
OUT=$WORK/out ERR=$WORK/err
# The user in it
IDS=1000

# enter_container COMMAND...: replaces this shell. Makes namespaces as root, or as a user who is root in a user
# namespace; then the command runs as a user in a user namespace below that, without any capability
# shellcheck disable=SC2016 # expanded by the inner shells
enter_container() {
	local userns=()
	am_root || userns=(--user --map-root-user)
	exec unshare "${userns[@]}" --mount --pid --fork --kill-child=KILL --propagation private bash -c '
		set -e
		root=$1 runtime=$2 shared=$3 ids=$4 pivot=$5; shift 5
		mount --bind "$root" "$root"
		cd "$root"
		mount -t proc proc proc
		mount -t tmpfs -o mode=755 dev dev
		for f in null zero full random urandom tty; do : >"dev/$f"; mount --bind "/dev/$f" "dev/$f"; done
		mkdir dev/pts
		mount --rbind /dev/pts dev/pts
		if [ "${SHM_OPTIONS:-}" != none ]; then
			mkdir dev/shm
			mount -t tmpfs -o "mode=1777,${SHM_OPTIONS:-size=90%}" shm dev/shm
		fi
		mount -t tmpfs -o "mode=1777,${TMP_OPTIONS:-rw}" tmp tmp
		mount --bind "$runtime" build
		mount --bind "$shared" mnt/share
		mount -o remount,bind,ro . 2>/dev/null || true
		mkdir dev/old
		exec python3 "$pivot" "$ids" "$@"' container "$ROOT" "$RUN_RUNTIME" "$SHARED" "$IDS" "$TOP/selftests/lib/pivot.py" \
		unshare --user --map-user="$IDS" --map-group="$IDS" setpriv --no-new-privs \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 GREETING="a  b" "$@"
}

# in_container COMMAND...
in_container() { (enter_container "$@"); }

# run ARGS...: softmr-run in the container; its output in OUT and ERR, its status in STATUS
run() {
	STATUS=0
	in_container /build/softmr-run "$@" >"$OUT" 2>"$ERR" </dev/null || STATUS=$?
}

# judge DESCRIPTION STATUS COMMAND...: the run had that status, and COMMAND succeeds
judge() {
	local what=$1 status=$2
	shift 2
	if [ "$STATUS" != "$status" ]; then
		echo "status $STATUS, expected $status" >>"$ERR"
	elif "$@" >>"$ERR" 2>&1; then
		ok "$what"
		return
	fi
	not_ok "$what" "$OUT" "$ERR"
}

said() { grep -qE -- "$1" "$OUT"; }
complained() { grep -qE -- "$1" "$ERR"; }
# is_output TEXT: the output is exactly TEXT, which may have printf's escapes
is_output() { printf %b "$1" | cmp - "$OUT"; }
