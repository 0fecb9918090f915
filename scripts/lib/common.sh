# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Common to all scripts here: paths, messages, locks, progress.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/softmr
BUILD=${SOFTMR_BUILD:-$TOP/build}
LOGS=$BUILD/logs
ME=$(basename "$0")
# depmod and mke2fs are not on an ordinary user's path
PATH=$PATH:/usr/sbin:/sbin
# make's variables, such as T of "make T=name", must not reach the makes that we start
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES T BED

say() { printf '%s\n' "$*" >&2; }
warn() { say "$ME: $*"; }

# die STATUS MESSAGE...
die() {
	local status=$1
	shift
	warn "$*"
	exit "$status"
}

have() { command -v "$1" >/dev/null 2>&1; }
am_root() { [ "$(id -u)" = 0 ]; }
on_tty() { [ -t 2 ]; }
elapsed() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# hash_of FILE-OR-DIR...: one short hash of the contents and names of all of these
hash_of() {
	local p
	for p in "$@"; do
		[ -e "$p" ] || continue
		(cd "$(dirname "$p")" && find "$(basename "$p")" -type f -print0 |
			LC_ALL=C sort -z | xargs -0r sha256sum)
	done | sha256sum | cut -c1-16
}

# with_lock NAME COMMAND...: run COMMAND, one at a time on this machine
with_lock() {
	local name=$1 fd status=0
	shift
	mkdir -p "$CACHE"
	exec {fd}>"$CACHE/.$name.lock"
	if ! flock -n "$fd"; then
		say "  WAIT  another run is making $name"
		flock "$fd"
	fi
	"$@" {fd}>&- || status=$?
	exec {fd}>&-
	return "$status"
}

# Show that the job PID is running: on a terminal by a line that is redrawn, otherwise by a line a minute.
heartbeat() {
	local pid=$1 what=$2 log=$3 start=$SECONDS t last
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		t=$((SECONDS - start))
		if on_tty; then
			last=$(tail -c 300 "$log" 2>/dev/null | tr '\r' '\n' | tail -n 1 | tr -dc '[:print:]' | cut -c1-50)
			printf '\r\033[K  ....  %-28s %s  %s' "$what" "$(elapsed $t)" "$last" >&2
		elif [ $((t % 60)) = 0 ]; then
			say "  ....  $what: $(elapsed $t) so far"
		fi
	done
	if on_tty; then printf '\r\033[K' >&2; fi
}

# Each job has its own process group, so that all its processes can be ended at once.
JOBS=()
# Directories that a job is making
UNFINISHED=()

# being_made [DIRECTORY]: remove DIRECTORY if the script exits before the next call; without DIRECTORY, remove nothing
being_made() { UNFINISHED=("$@"); }

# cached MARK COMMAND...: unless there is the file MARK, which says that its directory is complete, make that directory,
# $CACHE/NAME-KEY, by COMMAND... DIRECTORY. The two newest of NAME are kept
cached() {
	local mark=$1 dir=${1%/*} out name
	name=$(basename "${dir%-*}")
	[ ! -e "$mark" ] || return 0
	mkdir -p "$CACHE"
	out=$(mktemp -d "$CACHE/tmp.$name.XXXXXX")
	being_made "$out"
	if ! "${@:2}" "$out"; then
		rm -rf "$out"
		return 1
	fi
	touch "$out/${mark##*/}"
	rm -rf "$dir"
	mv "$out" "$dir"
	being_made
	prune_cache "$name-*"
}

# prune_cache GLOB: keep the two newest results
prune_cache() {
	local old
	# shellcheck disable=SC2012,SC2086 # names are ours, without blanks; the glob is meant
	(cd "$CACHE" && ls -dt $1 2>/dev/null | tail -n +3) | while IFS= read -r old; do
		rm -rf "${CACHE:?}/$old"
	done
}

# start_job COMMAND...: run it in the background; its process group's id is in $job
start_job() {
	set -m
	"$@" &
	job=$!
	set +m
	JOBS+=("$job")
}

signal_jobs() {
	local j
	for j in ${JOBS[@]+"${JOBS[@]}"}; do
		kill "-$1" -- "-$j" 2>/dev/null || kill "-$1" "$j" 2>/dev/null || true
	done
}

jobs_live() {
	local j
	for j in ${JOBS[@]+"${JOBS[@]}"}; do
		if kill -0 -- "-$j" 2>/dev/null || kill -0 "$j" 2>/dev/null; then return 0; fi
	done
	return 1
}

# End all jobs and their processes, and remove the directories that they were making: by SIGTERM, so that they can clean
# up, and by SIGKILL after 5 s
end_jobs() {
	local i
	signal_jobs TERM
	for ((i = 0; i < 50; i++)); do
		jobs_live || break
		sleep 0.1
	done
	kill_jobs
	[ "${#UNFINISHED[@]}" = 0 ] || rm -rf "${UNFINISHED[@]}"
}

kill_jobs() {
	local j
	signal_jobs KILL
	for j in ${JOBS[@]+"${JOBS[@]}"}; do
		wait "$j" 2>/dev/null || true
	done
	JOBS=()
}

# at_exit FUNCTION: call FUNCTION when the script exits, also by a signal
at_exit() {
	# shellcheck disable=SC2064 # the function's name is known now
	trap "$1" EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

# fresh_shell FUNCTION ARGS...: run it in a subshell, which exits at the first failing command. (If a function is called
# in a condition, or on the left of ||, "set -e" is off in all of it.)
fresh_shell() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	bash -euo pipefail -c '. "$0/scripts/lib/all.sh"; "$@"' "$TOP" "$@"
}

# step WHAT COMMAND...: run a long job with its output in a log, and print how long it took. If it fails, the log's end
# and its name are printed. $LOGS/steps has the time of each.
step() {
	local what=$1 log job beat status=0 start=$SECONDS
	shift
	log=$LOGS/$(tr -cs 'A-Za-z0-9._\n-' - <<<"$what").log
	mkdir -p "$LOGS"
	on_tty || say "  MAKE  $what"
	start_job fresh_shell "$@" >"$log" 2>&1 </dev/null
	heartbeat "$job" "$what" "$log" &
	beat=$!
	wait "$job" || status=$?
	{ kill "$beat" && wait "$beat"; } 2>/dev/null || true
	if on_tty; then printf '\r\033[K' >&2; fi
	if [ "$status" != 0 ]; then
		tail -n 25 "$log" >&2
		warn "$what failed (status $status); the full log is $log"
		return "$status"
	fi
	echo "$((SECONDS - start)) $what" >>"$LOGS/steps"
	say "  DONE  $what ($(elapsed $((SECONDS - start))))"
}

# sync_tree SRC DST: copy the sources of SRC to DST. Unchanged files keep their time, and objects are kept, so that a
# second build compiles only what changed.
sync_tree() {
	local src=$1 dst=$2 f
	mkdir -p "$dst"
	if [ -e "$dst/.sources" ]; then
		while IFS= read -r f; do
			[ -e "$src/$f" ] || rm -f "${dst:?}/$f"
		done <"$dst/.sources"
	fi
	(cd "$src" && find . -type f ! -name '*.o' ! -name '*.ko' ! -name '*.cmd' ! -name '*.mod*') |
		LC_ALL=C sort >"$dst/.sources"
	while IFS= read -r f; do
		cmp -s "$src/$f" "$dst/$f" && continue
		mkdir -p "$dst/$(dirname "$f")"
		cp "$src/$f" "$dst/$f"
	done <"$dst/.sources"
	# the module's version is in the parent directory in the tree, but in the same directory in a copy
	[ "$src" != "$TOP/kernel" ] || cmp -s "$TOP/VERSION" "$dst/VERSION" || cp "$TOP/VERSION" "$dst/VERSION"
}

# config_lacks CONFIG: the options that dkms.conf requires and this kernel configuration lacks. DKMS skips such a
# kernel, without an error
config_lacks() {
	local option options missing=()
	options=$(sed -n 's/^BUILD_EXCLUSIVE_CONFIG="\(.*\)"$/\1/p' "$TOP/packaging/dkms.conf.in")
	for option in $options; do
		grep -q "^$option=[ym]" "$1" || missing+=("$option")
	done
	echo "${missing[*]}"
}

# project_home: the address of the project; project_mail: that of its maintainers
project_home() { grep '^https://' "$TOP/packaging/home"; }
project_mail() { grep '^[^#].*@' "$TOP/packaging/home"; }

# splat_lines LOG: the numbered lines of a kernel log that a healthy kernel does not print. False if there are none. If
# the check itself fails, it prints a line, too.
splat_lines() {
	local list status=0
	[ -e "$1" ] || return
	list=$(grep -v '^#' "$TOP/scripts/lib/splats") || list='('
	grep -naE -e "$list" "$1" 2>/dev/null || status=$?
	[ "$status" -gt 1 ] || return "$status"
	echo "1:$1 could not be searched for the lines of $TOP/scripts/lib/splats"
}
