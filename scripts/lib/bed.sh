# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The options that qemu-boot.sh and uml-boot.sh share. And the parts of qemu-boot.sh that softmr-run does for
# uml-boot.sh: pass the job to the guest, wait for its verdict, judge the console log, clean up.
#
# A bed defines: bed_usage_head, bed_option (its own options); for bed_main also bed_prepare (build what it boots) and
# bed_start (fill INSTANCES with the started processes).

# Those of softmr-run (userspace/run/run.h)
EXIT_DIED=123 EXIT_TIMEOUT=124 EXIT_NO_BOOT=125

NODES=1 CPUS=2 MEM='' SHARE='' TIMEOUT='' CMDLINE='' LOG_DIR='' INTERACTIVE='' COMMAND=()
BOOT_LIMIT=${SOFTMR_BOOT_LIMIT:-180}

# INSTANCES: process id per guest. Instance i has console.$i and verdict.$i in $RUN, and the nodes
# that NODES_OF[i] lists.
INSTANCES=() NODES_OF=()

bed_usage() {
	bed_usage_head
	cat <<-EOF

		Boots the guest, runs COMMAND in it as root, and exits with COMMAND's status. A single argument
		is a line for the shell; no COMMAND gives an interactive shell (on the first node).

		  --nodes N          machines on one Ethernet segment; COMMAND runs on each (default 1)
		  --cpus N           processors of each guest (default 2)
		  --mem SIZE         memory of each guest, such as 2G
		  --share DIR        mount the host's DIR at /mnt/share in the guest, writable
		  --timeout SECONDS  give up after this long (0: never; default 600, or 0 without COMMAND)
		  --cmdline ARGS     more arguments for the kernel
		  --log DIR          keep the console log and the kernel log there (console.N, dmesg.N)
		  --no-build         boot what was built last, whatever the sources are now
		  --help             this

		In the guest: softmr is installed but not loaded; eth0 has 10.0.0.<node>/24 and fd00::<node>/64;
		NODE and NODES are in the environment. With more than one node each line of output begins with its node.

		Exit status: COMMAND's (of several nodes: the first that is not 0), or
		  $EXIT_NO_BOOT  the guest could not be made or never came up
		  $EXIT_DIED  the guest died before COMMAND ended, or its kernel printed a splat (BUG, WARNING, KASAN, ...),
		       whatever COMMAND returned
		  $EXIT_TIMEOUT  the guest or COMMAND was still running after --timeout seconds
		each with a message that says which, and the end of the console log, or the splat. (A COMMAND that ends with
		one of these itself comes without.)
	EOF
}

need_number() { [[ $2 =~ ^[0-9]+$ ]] || die 2 "$1 takes a number, not '$2'"; }
need_some() { [[ $2 =~ ^[1-9][0-9]*$ ]] || die 2 "$1 takes a number from 1 on, not '$2'"; }

bed_parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h)
			bed_usage
			exit 0
			;;
		--no-build) SOFTMR_NO_BUILD=1 ;;
		--)
			shift
			break
			;;
		--nodes | --cpus | --mem | --share | --timeout | --cmdline | --log | --kernel | --flavour | --tree | --layer)
			[ $# -ge 2 ] || die 2 "$1 needs a value"
			bed_parse_value "$1" "$2"
			shift
			;;
		-*) die 2 "unknown option $1 (see --help)" ;;
		*) break ;;
		esac
		shift
	done
	COMMAND=("$@")
	case ${#COMMAND[@]} in
	0) INTERACTIVE=1 ;;
	1) COMMAND=(bash -c "$1") ;;
	esac
	TIMEOUT=${TIMEOUT:-$([ "$INTERACTIVE" ] && echo 0 || echo 600)}
}

# shellcheck disable=SC2034 # the beds use them
bed_parse_value() {
	case $1 in
	--nodes) need_some "$1" "$2" && NODES=$2 ;;
	--cpus) need_some "$1" "$2" && CPUS=$2 ;;
	--timeout) need_number "$1" "$2" && TIMEOUT=$2 ;;
	--mem) MEM=$2 ;;
	--cmdline) CMDLINE=$2 ;;
	--share)
		[ -d "$2" ] || die 2 "--share: $2 is not a directory"
		SHARE=$(realpath "$2")
		;;
	--log)
		mkdir -p "$2"
		LOG_DIR=$(realpath "$2")
		;;
	*) bed_option "$1" "$2" || die 2 "unknown option $1 (see --help)" ;;
	esac
}

# -- the run's own directory

bed_cleanup() {
	end_jobs
	[ -z "${TTY_STATE:-}" ] || stty "$TTY_STATE" <&"$STDIN" || true
	if [ -n "${RUN:-}" ]; then rm -rf "$RUN"; fi
}

bed_open() {
	RUN=$(mktemp -d "${TMPDIR:-/tmp}/softmr-run.XXXXXX")
	exec {STDIN}<&0
	if [ -n "$INTERACTIVE" ]; then
		[ -t 0 ] || die 2 "no COMMAND was given, and standard input is not a terminal"
		TTY_STATE=$(stty -g)
	fi
}

# write_job NODE FILE: what scripts/guest/init reads
write_job() {
	cat >"$2" <<-EOF
		NODE=$1
		NODES=$NODES
		SHARE=${SHARE@Q}
		INTERACTIVE=$INTERACTIVE
		COMMAND=(${COMMAND[*]@Q})
	EOF
}

# node_output NODE: make $RUN/out.NODE, a pipe whose contents are copied to our standard output
node_output() {
	local pipe=$RUN/out.$1
	mkfifo "$pipe"
	if [ "$NODES" = 1 ]; then
		cat "$pipe" &
	else
		sed -u "s/^/node$1: /" "$pipe" &
	fi
	READERS+=("$!")
}
READERS=()

# start_instance NODES-LIST COMMAND...: start a guest as a separate job, which dies with this script
start_instance() {
	local nodes=$1
	shift
	if [ -n "$INTERACTIVE" ] && [ "${#INSTANCES[@]}" = 0 ]; then
		# it reads the terminal, so it must stay in the terminal's process group
		setpriv --pdeathsig KILL "$@" <&"$STDIN" &
		job=$!
		JOBS+=("$job")
	else
		start_job setpriv --pdeathsig KILL "$@" </dev/null
	fi
	INSTANCES+=("$job")
	NODES_OF+=("$nodes")
}

# -- the verdict

verdict_has() { grep -qsa "^$2" "$RUN/verdict.$1"; }
alive() { kill -0 "${INSTANCES[$1]}" 2>/dev/null; }

# The status of a node's COMMAND; nothing if there is none yet
node_status() {
	sed -n "s/^exit $2 \([0-9]*\)$/\1/p" "$RUN/verdict.$1" 2>/dev/null | head -n 1
}
# instance_failure I RUNNING-SECONDS: print how instance I has failed; nothing if it has not
instance_failure() {
	if ! alive "$1"; then
		verdict_has "$1" up && echo died || echo noboot
	elif [ "$TIMEOUT" != 0 ] && [ "$2" -ge "$TIMEOUT" ]; then
		echo timeout
	elif [ "$2" -ge "$BOOT_LIMIT" ] && ! verdict_has "$1" up; then
		echo noboot
	fi
}

# Wait until every guest is down, or one has failed: the others would wait for it for ever. FAILED[i] is the reason of
# instance i.
bed_wait() {
	local start=$SECONDS i up failure
	FAILED=()
	while :; do
		up=0
		for i in "${!INSTANCES[@]}"; do
			verdict_has "$i" down && continue
			up=1
			failure=$(instance_failure "$i" $((SECONDS - start)))
			# it may have gone down in between
			if [ -n "$failure" ] && ! verdict_has "$i" down; then FAILED[i]=$failure; fi
		done
		[ "$up" = 1 ] && [ "${#FAILED[@]}" = 0 ] || return 0
		sleep 0.1
	done
}

# -- judging

# Print the kernel's splats of an instance; false if it printed none
show_splats() {
	local log first
	for log in "$RUN/dmesg.$1" "$RUN/console.$1"; do
		first=$(splat_lines "$log" | head -n 1 | cut -d: -f1)
		[ -n "$first" ] || continue
		warn "the kernel of node ${NODES_OF[$1]} printed this:"
		tail -n "+$first" "$log" | head -n 60 >&2
		return
	done
	return 1
}

# The last lines of the console, and the last output of the program that emulates the machine
show_console_end() {
	say "--- the console's last lines (node ${NODES_OF[$1]})"
	cat "$RUN/qemu.$1" "$RUN"/virtiofsd.* >&2 2>/dev/null || true
	tail -n 30 "$RUN/console.$1" 2>/dev/null | tr -d '\r' >&2
	say "---"
}

describe_failure() {
	local i=$1
	case ${FAILED[i]} in
	noboot) warn "the guest never booted (node ${NODES_OF[i]}): no sign of life from its init within $BOOT_LIMIT s or before it ended" ;;
	died)
		if grep -qa 'Kernel panic' "$RUN/console.$i"; then
			warn "the guest's kernel panicked (node ${NODES_OF[i]})"
		else
			warn "the guest died without a verdict (node ${NODES_OF[i]})"
		fi
		;;
	timeout) warn "still running after $TIMEOUT s, so it was ended (node ${NODES_OF[i]}; it $(verdict_has "$i" up && echo booted || echo never booted))" ;;
	esac
}

failure_status() {
	case $1 in
	noboot) echo "$EXIT_NO_BOOT" ;;
	died) echo "$EXIT_DIED" ;;
	timeout) echo "$EXIT_TIMEOUT" ;;
	esac
}

# The exit status of the whole run: the guests' own failures, then splats, then COMMAND's
bed_judge() {
	local i node status=0 splat=0 s
	for i in "${!INSTANCES[@]}"; do
		if show_splats "$i"; then splat=1; fi
		if [ -n "${FAILED[i]:-}" ]; then
			describe_failure "$i"
			show_console_end "$i"
			[ "$status" != 0 ] || status=$(failure_status "${FAILED[i]}")
		fi
	done
	if [ "$status" = 0 ] && [ "$splat" = 1 ]; then status=$EXIT_DIED; fi
	for i in "${!INSTANCES[@]}"; do
		for node in ${NODES_OF[i]}; do
			s=$(node_status "$i" "$node")
			[ "$status" != 0 ] || status=${s:-$EXIT_DIED}
		done
	done
	return "$status"
}

keep_logs() {
	[ -n "$LOG_DIR" ] || return 0
	local f
	for f in "$RUN"/console.* "$RUN"/dmesg.*; do
		[ ! -e "$f" ] || cp "$f" "$LOG_DIR/"
	done
}

# Boot the guests, and wait for their end
bed_run() {
	local pipe
	bed_open
	bed_start
	bed_wait
	# a guest that is down waits until we end it
	kill_jobs
	# a reader waits until its pipe is opened, and a guest that died early has not opened it
	for pipe in "$RUN"/out.*; do
		[ ! -p "$pipe" ] || : <>"$pipe"
	done
	# the data that is still in the pipes belongs to the output
	wait "${READERS[@]}" 2>/dev/null || true
}

# stillborn: the init of no guest has printed anything. QEMU itself sometimes aborts at boot.
stillborn() {
	local i
	for i in "${!INSTANCES[@]}"; do
		! verdict_has "$i" up || return
	done
	[ "${#FAILED[@]}" != 0 ]
}

bed_main() {
	local status=0
	bed_parse "$@"
	at_exit bed_cleanup
	[ -n "${SOFTMR_NO_BUILD:-}" ] || host_require "$BED" || exit "$EXIT_NO_BOOT"
	bed_prepare || die "$EXIT_NO_BOOT" "what the guest boots from could not be made"
	bed_run
	if stillborn && [ -z "$INTERACTIVE${SOFTMR_BOOT_ONCE:-}" ]; then
		warn "a guest's init never spoke, so it is booted once more: $(tail -qn 1 "$RUN"/qemu.* "$RUN"/console.* 2>/dev/null | tr -d '\r' | grep -a . | head -n 1)"
		keep_logs
		rm -rf "$RUN"
		INSTANCES=() NODES_OF=() READERS=()
		bed_run
	fi
	bed_judge || status=$?
	keep_logs
	exit "$status"
}
