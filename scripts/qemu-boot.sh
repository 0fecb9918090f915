#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot Debian guests in QEMU and run a command in them. See --help.
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/bed.sh
. "$TOP/scripts/lib/bed.sh"

KERNEL=newest
MORE_LAYERS=()

bed_usage_head() {
	cat <<-EOF
		Usage: scripts/qemu-boot.sh [--kernel ROLE] [--layer FILE]... [OPTION...] [--] [COMMAND...]

		A Debian 13 guest on one of Debian's own kernels, under KVM where that really works, else under software
		emulation. ROLE says which kernel: newest (that of Debian 13's backports; the default), stable (Debian 13's),
		oldest (Debian 12's), cloud (that of Debian 13's cloud images), rt (the newest with PREEMPT_RT); or race (built
		here, with KCSAN). --layer puts the files of an erofs image on top of the root.
	EOF
}

bed_option() {
	case $1 in
	--kernel)
		is_role "$2" || [ "$2" = race ] || die 2 "--kernel: there is no '$2'; there are: ${ROLES[*]} race"
		KERNEL=$2
		;;
	--layer)
		[ -f "$2" ] || die 2 "--layer: there is no file $2"
		add_layer "$(realpath "$2")"
		;;
	*) return 1 ;;
	esac
}

add_layer() {
	MORE_LAYERS+=(-drive "file=$1,if=none,id=layer${#MORE_LAYERS[@]},format=raw,readonly=on"
		-device "virtio-blk-pci,drive=layer${#MORE_LAYERS[@]}")
}

prepare() {
	MEM=${MEM:-1G}
	[ -n "${SOFTMR_NO_BUILD:-}" ] || build_layer "$KERNEL" || return
	if [ "$KERNEL" = race ]; then
		KERNEL_IMAGE=$(race_image)
		add_layer "$RACE_BUILD/layer.erofs"
		CMDLINE="$RACE_CMDLINE $CMDLINE"
	else
		KERNEL_IMAGE=$BASE/root/boot/vmlinuz-$(kernel_release "$KERNEL")
	fi
}

# from_image PROGRAM: fill PROGRAM_OF_IMAGE with the words that start a program of the image
from_image() {
	PROGRAM_OF_IMAGE=("$BASE/root/lib64/ld-linux-x86-64.so.2" --library-path "$BASE/root/usr/lib/x86_64-linux-gnu"
		"$BASE/root$1")
}

# Use QEMU of the image, with the image's loader. A QEMU before 8.1, as in Debian 12, can miss that a CPU changes code
# that another CPU is about to run: then the guest dies of an int3, from static keys and tracepoints.
from_image /usr/bin/qemu-system-x86_64
QEMU=("${PROGRAM_OF_IMAGE[@]}" -L "$BASE/root/usr/share/qemu" -L "$BASE/root/usr/share/seabios")

# -- KVM or not

# Some machines have a /dev/kvm that cannot run a stock kernel. So test it by a complete boot of the wanted kernel. The
# answer is kept until the machine reboots, or the image, which contains QEMU, changes.
kvm_works() {
	local answer
	[ -w /dev/kvm ] || return
	answer=$CACHE/kvm-$({
		cat /proc/sys/kernel/random/boot_id
		echo "$BASE $KERNEL"
	} | sha256sum | cut -c1-16)
	if [ ! -e "$answer" ]; then
		if SOFTMR_ACCEL=kvm SOFTMR_BOOT_ONCE=1 SOFTMR_BOOT_LIMIT=20 "$0" --kernel "$KERNEL" --no-build --timeout 25 true >/dev/null 2>&1; then
			echo yes >"$answer"
		else
			echo no >"$answer"
		fi
	fi
	[ "$(cat "$answer")" = yes ]
}

# With SOFTMR_ACCEL=icount the virtual time is the number of instructions, one in a nanosecond, and idle time is skipped
# (scripts/bench.sh, the counted part). The processor has all features that QEMU can emulate, above all PCLMULQDQ, as a
# user's has; but no fast string instructions, because each of their steps would count. Otherwise the emulated processor
# is an old one: string instructions that move bytes, AVX and PCLMULQDQ, which code uses on a new processor, are slow to
# emulate (copying memory: 3 to 5 times slower).
choose_accelerator() {
	if [ "${SOFTMR_ACCEL:-}" = icount ]; then
		# shellcheck disable=SC2054 # the commas are QEMU's
		ACCELERATOR=(-accel tcg,thread=single -icount "shift=0,sleep=off" -cpu max,-erms,-fsrm)
	elif [ "${SOFTMR_ACCEL:-}" = kvm ] || { [ -z "${SOFTMR_ACCEL:-}" ] && kvm_works; }; then
		ACCELERATOR=(-accel kvm -cpu host)
	else
		ACCELERATOR=(-accel "tcg,thread=multi" -cpu "Nehalem,+rdrand,+smep,+smap")
		# a busy host is slow at everything, but a slow processor is not a stuck one
		CMDLINE="watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60 $CMDLINE"
	fi
}

# -- the segment: node 1 is the hub, the others connect to it. Unix sockets, so that no port can be in use.

nic() { echo -device "virtio-net-pci,netdev=$2,mac=52:54:00:12:34:$(printf %02x "$1"),romfile="; }

node_network() {
	local node=$1 k
	if [ "$NODES" = 1 ]; then
		# there is no other node, but frames must be consumed: the kernel reports a queue that does not move
		echo -netdev user,id=net,restrict=on,ipv6=off,net=192.0.2.0/24 "$(nic 1 net)"
	elif [ "$node" != 1 ]; then
		echo -netdev "stream,id=net,server=off,addr.type=unix,addr.path=$RUN/net.$node" "$(nic "$node" net)"
	else
		echo -netdev hubport,id=net,hubid=0 "$(nic 1 net)"
		for ((k = 2; k <= NODES; k++)); do
			echo -netdev "stream,id=link$k,server=on,addr.type=unix,addr.path=$RUN/net.$k" \
				-netdev "hubport,id=port$k,hubid=0,netdev=link$k"
		done
	fi
}

# wait_for_socket SOCKET PROCESS: wait until it exists, or the process that makes it has ended
wait_for_socket() {
	local tries=0
	until [ -S "$1" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 200 ] && kill -0 "$2" 2>/dev/null || return 0
		sleep 0.05
	done
}

wait_for_sockets() {
	local k
	for ((k = 2; k <= NODES; k++)); do wait_for_socket "$RUN/net.$k" "${GUEST[1]}"; done
}

# -- the shared directory, by virtiofs, which every kernel of Debian supports (that of its cloud images has no 9p)

# share_device NODE: start the server for this guest, and fill SHARE_DEVICE with QEMU's options. The server accesses
# files as the user who boots the guest.
share_device() {
	local socket=$RUN/share.$1
	SHARE_DEVICE=()
	[ -n "$SHARE" ] || return 0
	from_image /usr/libexec/virtiofsd
	start_job setpriv --pdeathsig KILL "${PROGRAM_OF_IMAGE[@]}" --socket-path "$socket" --shared-dir "$SHARE" \
		--sandbox none --cache never --log-level error \
		--translate-uid "squash-guest:0:$(id -u):4294967295" --translate-gid "squash-guest:0:$(id -g):4294967295" \
		</dev/null >"$RUN/virtiofsd.$1" 2>&1
	wait_for_socket "$socket" "$job"
	# shellcheck disable=SC2054 # the commas are QEMU's
	SHARE_DEVICE=(-object "memory-backend-memfd,id=ram,size=$MEM,share=on" -machine memory-backend=ram
		-chardev "socket,id=share,path=$socket" -device vhost-user-fs-pci,chardev=share,tag=share)
}

# -- the guests

# Faster under emulation, and without effect on the tests: no mitigations, no KASLR, few messages before init raises the
# level; and no random addresses (norandmaps). QEMU translates a page of code again for each address at which a process
# maps it, keeps all translations, and walks them at each store to that page when it later holds other data. Without
# norandmaps starting a process took five times as long, and clearing 2 MiB took up to 100 s, which the kernel reports
# as a stuck processor.
kernel_cmdline() {
	echo "console=ttyS0 loglevel=5 log_buf_len=1M panic=-1 mitigations=off nokaslr random.trust_cpu=on tsc=reliable" \
		"no_timer_check raid=noautodetect norandmaps $CMDLINE"
}

# node_output NODE: make $RUN/out.NODE, a pipe whose contents are copied to our standard output
node_output() {
	mkfifo "$RUN/out.$1"
	if [ "$NODES" = 1 ]; then cat "$RUN/out.$1" & else sed -u "s/^/node$1: /" "$RUN/out.$1" & fi
	READERS+=("$!")
}

start_node() {
	local node=$1
	# what scripts/guest/init reads
	cat >"$RUN/job.$node" <<-EOF
		NODE=$node
		NODES=$NODES
		SHARE=${SHARE@Q}
		INTERACTIVE=$INTERACTIVE
		COMMAND=(${COMMAND[*]@Q})
	EOF
	share_device "$node"
	# shellcheck disable=SC2046 # words are meant
	set -- setpriv --pdeathsig KILL "${QEMU[@]}" -M q35,usb=off,vmport=off,smm=off,nvdimm=on -nodefaults -no-user-config \
		-display none -no-reboot "${ACCELERATOR[@]}" -smp "$CPUS" -m "$MEM,slots=1,maxmem=64G" \
		-object memory-backend-ram,id=persistent,size=64M -device nvdimm,memdev=persistent \
		-kernel "$KERNEL_IMAGE" -initrd "$IMAGE/initrd-$KERNEL" \
		-append "$(kernel_cmdline)" -serial "file:$RUN/console.$node" \
		-drive "file=$BASE/base.erofs,if=none,id=base,format=raw,readonly=on" \
		-device virtio-blk-pci,drive=base \
		-drive "file=$IMAGE/layer.erofs,if=none,id=layer,format=raw,readonly=on" \
		-device virtio-blk-pci,drive=layer \
		"${MORE_LAYERS[@]}" \
		-device virtio-serial-pci -device virtconsole,chardev=out \
		-chardev "file,id=verdict,path=$RUN/verdict.$node" \
		-device virtserialport,chardev=verdict,name=softmr.verdict \
		-chardev "file,id=dmesg,path=$RUN/dmesg.$node" \
		-device virtserialport,chardev=dmesg,name=softmr.dmesg \
		-fw_cfg "name=opt/softmr/job,file=$RUN/job.$node" \
		"${SHARE_DEVICE[@]}" $(node_network "$node")
	if [ -n "$INTERACTIVE" ] && [ "$node" = 1 ]; then
		# it reads the terminal, so it must stay in the terminal's process group
		"$@" -chardev stdio,id=out,signal=off <&"$STDIN" 2>"$RUN/qemu.$node" &
		job=$!
		JOBS+=("$job")
	else
		node_output "$node"
		start_job "$@" -chardev "file,id=out,path=$RUN/out.$node" </dev/null 2>"$RUN/qemu.$node"
	fi
	GUEST[node]=$job
}

start_nodes() {
	local node
	GUEST=() READERS=()
	for ((node = 1; node <= NODES; node++)); do
		start_node "$node"
		[ "$node" != 1 ] || wait_for_sockets
	done
}

# -- the verdict

verdict_has() { grep -qsa "^$2" "$RUN/verdict.$1"; }

# node_failure NODE SECONDS: print the exit status of a guest that has failed, which runs for that time; nothing if it has
# not
node_failure() {
	if ! kill -0 "${GUEST[$1]}" 2>/dev/null; then
		verdict_has "$1" up && echo "$EXIT_DIED" || echo "$EXIT_NO_BOOT"
	elif [ "$TIMEOUT" != 0 ] && [ "$2" -ge "$TIMEOUT" ]; then
		echo "$EXIT_TIMEOUT"
	elif [ "$2" -ge "$BOOT_LIMIT" ] && ! verdict_has "$1" up; then
		echo "$EXIT_NO_BOOT"
	fi
}

# Wait until every guest is down, or one has failed: the others would wait for it for ever. FAILED has its status
wait_for_verdicts() {
	local start=$SECONDS node up failure
	FAILED=()
	while :; do
		up=0
		for node in "${!GUEST[@]}"; do
			verdict_has "$node" down && continue
			up=1
			failure=$(node_failure "$node" $((SECONDS - start)))
			# it may have gone down in between
			if [ -n "$failure" ] && ! verdict_has "$node" down; then FAILED[node]=$failure; fi
		done
		[ "$up" = 1 ] && [ "${#FAILED[@]}" = 0 ] || return 0
		sleep 0.1
	done
}

# Print the kernel's splats; false if there are none
show_splats() {
	local log first
	for log in "$RUN/dmesg.$1" "$RUN/console.$1"; do
		first=$(splat_lines "$log" | head -n 1 | cut -d: -f1)
		[ -n "$first" ] || continue
		warn "the kernel of node $1 printed this:"
		tail -n "+$first" "$log" | head -n 60 >&2
		return
	done
	return 1
}

describe_failure() {
	case ${FAILED[$1]} in
	"$EXIT_NO_BOOT") warn "the guest never booted (node $1): no sign of life from its init within $BOOT_LIMIT s or before it ended" ;;
	"$EXIT_DIED")
		if grep -qa 'Kernel panic' "$RUN/console.$1"; then
			warn "the guest's kernel panicked (node $1)"
		else
			warn "the guest died without a verdict (node $1)"
		fi
		;;
	"$EXIT_TIMEOUT") warn "still running after $TIMEOUT s, so it was ended (node $1; it $(verdict_has "$1" up && echo booted || echo never booted))" ;;
	esac
	say "--- the console's last lines (node $1)"
	cat "$RUN/qemu.$1" "$RUN"/virtiofsd.* >&2 2>/dev/null || true
	tail -n 30 "$RUN/console.$1" 2>/dev/null | tr -d '\r' >&2
	say "---"
}

# The exit status of the whole run: the guests' own failures, then splats, then COMMAND's
judge() {
	local node status=0 splat=0 s
	for node in "${!GUEST[@]}"; do
		if show_splats "$node"; then splat=$EXIT_DIED; fi
		[ -n "${FAILED[node]:-}" ] || continue
		describe_failure "$node"
		[ "$status" != 0 ] || status=${FAILED[node]}
	done
	[ "$status" != 0 ] || status=$splat
	for node in "${!GUEST[@]}"; do
		s=$(sed -n "s/^exit $node \([0-9]*\)$/\1/p" "$RUN/verdict.$node" 2>/dev/null | head -n 1)
		[ "$status" != 0 ] || status=${s:-$EXIT_DIED}
	done
	return "$status"
}

# -- all of it

keep_logs() { [ -z "$LOG_DIR" ] || cp "$RUN"/console.* "$RUN"/dmesg.* "$LOG_DIR/" 2>/dev/null || true; }

# shellcheck disable=SC2317 # called by at_exit
cleanup() {
	end_jobs
	[ -z "${TTY_STATE:-}" ] || stty "$TTY_STATE" <&"$STDIN" || true
	[ -z "${RUN:-}" ] || rm -rf "$RUN"
}

# Boot the guests, and wait for their end
run() {
	local pipe
	RUN=$(mktemp -d "${TMPDIR:-/tmp}/softmr-run.XXXXXX")
	start_nodes
	wait_for_verdicts
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
	[ "${#FAILED[@]}" != 0 ] && ! grep -qsa '^up' "$RUN"/verdict.*
}

bed_parse "$@"
at_exit cleanup
[ -n "${SOFTMR_NO_BUILD:-}" ] || host_require qemu || exit "$EXIT_NO_BOOT"
prepare || die "$EXIT_NO_BOOT" "what the guest boots from could not be made"
exec {STDIN}<&0
if [ -n "$INTERACTIVE" ]; then
	[ -t 0 ] || die 2 "no COMMAND was given, and standard input is not a terminal"
	TTY_STATE=$(stty -g)
fi
choose_accelerator
run
if stillborn && [ -z "$INTERACTIVE${SOFTMR_BOOT_ONCE:-}" ]; then
	warn "a guest's init never spoke, so it is booted once more: $(tail -qn 1 "$RUN"/qemu.* "$RUN"/console.* 2>/dev/null | tr -d '\r' | grep -a . | head -n 1)"
	keep_logs
	rm -rf "$RUN"
	run
fi
status=0
judge || status=$?
keep_logs
exit "$status"
