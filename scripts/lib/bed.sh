# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The options that qemu-boot.sh and uml-boot.sh share. A bed defines bed_usage_head and bed_option, for its own.

# Those of softmr-run (userspace/run/run.h)
EXIT_DIED=123 EXIT_TIMEOUT=124 EXIT_NO_BOOT=125

NODES=1 CPUS=2 MEM='' SHARE='' TIMEOUT='' CMDLINE='' LOG_DIR='' INTERACTIVE='' COMMAND=()
# shellcheck disable=SC2034 # for the beds
BOOT_LIMIT=${SOFTMR_BOOT_LIMIT:-180}

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
		--no-build)
			# shellcheck disable=SC2034 # for the beds
			SOFTMR_NO_BUILD=1
			;;
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
