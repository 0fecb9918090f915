#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# softmr run: as an ordinary user, in a container of namespaces that has no capability, no /dev/kvm and no way to load
# a module. The container's root is the guest image, a Debian of its own; for Open MPI, which that does not have, it is
# another Debian. Runs on the host ("make test BED=host").
# needs: uml-plain
# timeout: 900
# shellcheck disable=SC2317 # judge calls them
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
SUITE=trixie
# shellcheck source=scripts/lib/tree.sh
. "$TOP/scripts/lib/tree.sh"
# shellcheck source=selftests/lib/container.sh
. "$TOP/selftests/lib/container.sh"

# The container's root
ROOT=$BASE/root
SHARED=$WORK/shared

# -- the container itself

container() {
	local status=0
	# shellcheck disable=SC2016 # the container's shell expands it
	in_container sh -c '
		grep -E "^Cap(Eff|Prm|Inh|Amb):" /proc/self/status | grep -v "0000000000000000$" && exit 1
		[ "$(id -u)" = 1000 ] && [ ! -e /dev/kvm ] && [ ! -e /dev/infiniband ] && ! touch /etc/x 2>/dev/null' \
		>"$OUT" 2>"$ERR" || status=$?
	STATUS=$status
	judge "the container has an ordinary user, no capability, no KVM, no RDMA device" 0 true
}

# -- what a command finds in the guest

# exchange NODE ARG...: print commands for the shell of the first node: ibv_rc_pingpong with the server on NODE. The
# client tries until the server listens
exchange() {
	local node=$1 what="ibv_rc_pingpong -g 1 ${*:2}"
	printf 'softmr-node %s %s >/tmp/server & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2
		%s 10.0.0.%s && break; done; wait $!' "$node" "$what" "$what" "$node"
}

pingpong() {
	local begin now
	begin=$(date +%s%N)
	run true
	now=$(date +%s%N)
	judge "a command runs" 0 [ ! -s "$ERR" ]
	diag "a guest takes $(((now - begin) / 1000000)) ms from start to end"
	run sh -c "ibv_devinfo; $(exchange 1)"
	judge "ibv_rc_pingpong runs between two processes of one node" 0 said '^8192000 bytes in '
}

surroundings() {
	# shellcheck disable=SC2016
	run sh -c 'id -u; id -g; pwd; echo "$GREETING"; echo "$NODE/$NODES $SOFTMR_DEVICE"; cat /etc/debian_version >/dev/null
		grep CapEff /proc/self/status; ulimit -l; tty; ls /proc/self/fd | wc -l'
	judge "user, directory and environment are the caller's; memory can be locked" 0 is_output \
		'1000\n1000\n/tmp\na  b\n1/1 softmr0\nCapEff:\t0000000000000000\nunlimited\nnot a tty\n4\n'
	run --root sh -c 'id -u; dmesg | head -n 1 >/dev/null && rdma link show && ip -br link show eth0 >/dev/null'
	judge "--root is root, of the guest" 0 said '^link softmr0/1 state ACTIVE'
	run sh -c 'cat /etc/shadow'
	judge "what the user cannot read stays so" 1 complained 'Permission denied'
	run --root sh -c 'cat /etc/shadow'
	judge "... for the guest's root, too" 1 complained '[Pp]ermission denied'
	# shellcheck disable=SC2016
	run --cpus 4 sh -c 'nproc; grep -c ^processor /proc/cpuinfo; grep "^core id" /proc/cpuinfo | sort -u | wc -l
		grep -c "^cpu MHz" /proc/cpuinfo'
	judge "--cpus is how many processors there are, for /proc/cpuinfo too" 0 is_output '4\n4\n4\n4\n'
}

# -- status, output, input

statuses() {
	run sh -c 'exit 42'
	judge "the exit status is the command's" 42 [ ! -s "$ERR" ]
	# shellcheck disable=SC2016
	run sh -c 'kill -SEGV $$'
	judge "... or that of its signal" 139 [ ! -s "$ERR" ]
	run no-such-command
	judge "a command that is not there has 127" 127 complained 'no-such-command: command not found'
	run /etc/passwd
	judge "... and one that cannot be run 126" 126 complained 'Permission denied'
}

streams() {
	run sh -c 'echo out; echo err >&2; printf "end"'
	judge "output and errors go their own ways" 0 is_output 'out\nend'
	STATUS=$(grep -qx err "$ERR"; echo $?)
	judge "... each whole" 0 [ "$(wc -l <"$ERR")" = 1 ]
	head -c 300000 /dev/urandom >"$WORK/bytes"
	STATUS=0
	in_container /build/softmr-run cat <"$WORK/bytes" >"$OUT" 2>"$ERR" || STATUS=$?
	judge "300 kB of any bytes go in and out unchanged" 0 cmp "$WORK/bytes" "$OUT"
	STATUS=0
	# shellcheck disable=SC2016
	in_container /build/softmr-run sh -c 'read line; echo "<$line>"' < <(echo one; sleep 100) >"$OUT" 2>"$ERR" || STATUS=$?
	judge "a command that ends does not wait for more input" 0 is_output '<one>\n'
	STATUS=0
	# the command line is more than a terminal of the guest holds, and the guest is idle when the input comes
	# shellcheck disable=SC2016
	in_container /build/softmr-run sh -c 'read line; echo "<$line>"' "$(printf '%16384s' x)" < <(sleep 3; echo late) \
		>"$OUT" 2>"$ERR" || STATUS=$?
	judge "input that comes later arrives, after a long command line too" 0 is_output '<late>\n'
	STATUS=0
	# the command has the reading end
	in_container /build/softmr-run sh -c 'yes; echo "yes: $?" >&2' 2>"$ERR" | head -n 2 >"$OUT" || STATUS=$?
	judge "a reader that goes ends the command as in a pipe" 0 is_output 'y\ny\n'
	STATUS=0
	in_container /build/softmr-run sh -c 'echo closed' >&- 2>"$ERR" || STATUS=$?
	judge "closed standard output is no harm" 0 true
}

# What a person types; script(1) is the terminal
terminal() {
	local keys pid
	: >"$OUT"
	mkfifo "$WORK/keys"
	exec {keys}<>"$WORK/keys"
	timeout 120 script -qec "stty rows 33 cols 99
		$(printf '%q ' bash -c "$(declare -f am_root enter_container); $(declare -p ROOT RUN_RUNTIME SHARED IDS TOP)
		enter_container /build/softmr-run sh -i")" /dev/null <&"$keys" >"$OUT" 2>"$ERR" &
	pid=$!
	within 30 said '^\$ '
	echo 'stty size; tty; sleep 100' >&"$keys"
	within 10 said '^/dev/pts/'
	nap 0.5
	# shellcheck disable=SC2016 # the guest's shell expands it
	printf '\003echo after-$?; exit 9\n' >&"$keys"
	STATUS=0
	wait "$pid" || STATUS=$?
	exec {keys}>&-
	judge "a terminal: its size, and the shell's end is that of the run" 9 said '^33 99'
	STATUS=0
	judge "... and Ctrl-C ends what runs in it" 0 said 'after-130'
}

# -- files

files() {
	chmod 777 "$SHARED"
	run sh -c 'echo new >/mnt/share/file; cat /mnt/share/file; echo x >/tmp/other'
	judge "what is written is there in the guest" 0 is_output 'new\n'
	STATUS=0
	judge "... and nowhere else" 0 [ ! -e "$SHARED/file" ]
	run --rw /mnt/share sh -c 'echo kept >/mnt/share/file && mkdir /mnt/share/dir && echo deep >/mnt/share/dir/file'
	judge "--rw writes to the host" 0 grep -qx kept "$SHARED/file"
	STATUS=0
	judge "... directories too" 0 grep -qx deep "$SHARED/dir/file"
	mkdir "$SHARED/a:b"
	chmod 777 "$SHARED/a:b"
	run --rw /mnt/share/a:b sh -c 'echo colon >/mnt/share/a:b/file && pwd'
	judge "... a directory with a colon in its name, too" 0 grep -qx colon "$SHARED/a:b/file"
	run --rw /mnt/share --at /tmp/there sh -c 'echo there >/tmp/there/there'
	judge "--at gives it another name" 0 grep -qx there "$SHARED/there"
	run --root sh -c 'echo x >>/etc/passwd && echo x >/usr/bin/x && cat /usr/bin/x'
	judge "root may write everywhere in the guest" 0 is_output 'x\n'
	STATUS=0
	judge "... and changes nothing of the host's" 0 [ ! -e "$BASE/root/usr/bin/x" ]
}

# -- several nodes

several() {
	run --nodes 2 sh -c "$(exchange 2)"
	judge "ibv_rc_pingpong runs between two nodes" 0 said '^8192000 bytes in '
	# shellcheck disable=SC2016
	run --nodes 3 --each sh -c 'echo "I am $NODE of $NODES: $(hostname) $SOFTMR_DEVICE $(ibv_devices | tail -n +3 | wc -l)"
		exit $((NODE == 2 ? 5 : 0))'
	judge "--each runs the command on each node; the first failure counts" 5 \
		said '^node3: I am 3 of 3: node3 softmr2 1$'
	# shellcheck disable=SC2016
	run --nodes 2 sh -c 'cd /usr; echo in | X=" y " softmr-node 2 sh -c "echo \"\$(pwd)\${X}\$NODE\"; cat; exit 3"
		echo $?; echo in | softmr-rsh -x user@node2 "cat;" hostname'
	judge "softmr-node and softmr-rsh carry input, environment, directory and status" 0 \
		is_output '/usr y 2\nin\n3\nin\nnode2\n'
	run --nodes 2 --root ip netns exec node2 ip -o -4 addr show eth0
	judge "ip(8) knows the nodes by their names" 0 said ' 10.0.0.2/24 '
	# shellcheck disable=SC2016
	run --nodes 40 --each sh -c 'n=0; for k in $(seq 40); do ping -qc1 -W9 10.0.0.$k >/dev/null && n=$((n + 1)); done; echo $n'
	judge "each of 40 nodes reaches each" 0 [ "$(grep -c ': 40$' "$OUT")" = 40 ]
	run --nodes 40 --each sh -c 'cat /sys/class/infiniband/*/ports/1/gids/1'
	judge "... and has its IPv4 address at GID index 1" 0 [ "$(grep -c ':ffff:0a00:' "$OUT")" = 40 ]
	run --nodes 2 softmr-node 3 true
	judge "a node that is not there is said so" 126 complained "there is no node '3'; there are node1 to node2"
}

# softmr trace itself is tested by trace_tool.sh; this says what it was called with, when it ends
# shellcheck disable=SC2016 # the guest's shell expands it
traced() {
	printf '%s\n' '#!/bin/sh' '[ "$1 $2 $4 $5" = "trace --output -- cat" ] || exit 9' 'cat' \
		'echo "$(id -u) $(hostname) $(cat /tmp/ended)" >"$3"' >"$SHARED/softmr"
	chmod 755 "$SHARED/softmr"
	STATUS=0
	in_container env PATH=/mnt/share:/usr/bin:/bin /build/softmr-run --nodes 2 --trace /mnt/share/t.json sh -c \
		'id -u; sleep 1; echo ended >/tmp/ended; exit 3' >"$OUT" 2>"$ERR" </dev/null || STATUS=$?
	judge "--trace: softmr trace is root of the first node" 3 is_output '1000\n'
	STATUS=0
	judge "... and writes its file when the command has ended" 0 grep -qx "0 node1 ended" "$SHARED/t.json"
	run --trace /mnt/share/t.json true
	judge "... without softmr trace the command does not run" 125 complained 'softmr trace does not run'
	rm "$SHARED/softmr"
}

mpi_tree() {
	base_tar fresh-mpi mount openmpi-bin python3-mpi4py ibverbs-providers && unpack_base "$WORK/mpi" &&
		mkdir "$WORK/mpi/build" "$WORK/mpi/mnt/share"
}

# mpirun of Debian, which knows nothing of softmr. Its data goes by RC QPs, or the run fails
mpi() {
	local ROOT=$WORK/mpi
	check "a Debian with Open MPI" mpi_tree || return
	cp "$TOP/selftests/lib/mpi_exchange.py" "$SHARED"
	run --nodes 2 mpirun --host node1,node2 -np 2 --mca pml ucx -x UCX_TLS=rc_v,self python3 /mnt/share/mpi_exchange.py
	judge "mpirun has processes of two nodes exchange messages by RDMA" 0 said '^rank 1 of 2 on node2: 16777216 bytes right$'
	rm -rf "$ROOT"
}

# The packets that this node's device has retransmitted
# shellcheck disable=SC2016 # the guest's shell expands it
RETRANSMITS='cat /sys/class/infiniband/$SOFTMR_DEVICE/ports/1/hw_counters/retransmits'

netem() {
	run --nodes 2 --netem "loss 5%" sh -c "$(exchange 2 -n 200) && $RETRANSMITS"
	judge "a network that loses 5%: packets are sent again, and all arrives" 0 said '^[1-9][0-9]*$'
	run --netem "loss 5%" sh -c "$(exchange 1 -n 200) && $RETRANSMITS"
	judge "... on one node, too" 0 said '^[1-9][0-9]*$'
	run --nodes 2 --netem "delay 20ms" sh -c 'ping -c 3 -q node2'
	judge "a network that delays by 20 ms each way" 0 said 'rtt min/avg/max/mdev = [4-9][0-9]\.'
	run --root --netem "delay 10ms 1ms 25% loss 100% 50% duplicate 2% 10% corrupt 0.5% 5% reorder 25% 50% gap 5 rate 1Gbit" \
		tc qdisc show dev eth0
	judge "correlations, gap and rate are what tc shows" 0 \
		said 'delay 10ms +1ms 25% loss 100% 50% duplicate 2% 10% reorder 25% 50% corrupt 0.5% 5% rate 1Gbit.* gap 5'
	run --netem "frob 1" true
	judge "a wrong --netem is said so" 125 complained "--netem 'frob 1': What is .frob"
}

# -- ends

# Run the command below a process 1 of the container, whose end would end all others; then print which processes are
# left
# shellcheck disable=SC2016 # the container's shell expands it
exec_run() {
	enter_container sh -c '"$@"; s=$?; sleep 1; find /tmp /dev/shm -mindepth 1 | sed "s/^/left: /"
		cat /proc/[0-9]*/cmdline | tr "\0" " " | grep -ao "vmlinux [m]em=" | sed "s/^/left: /"
		exit $s' sh /build/softmr-run "$@"
}

nothing_left() { ! grep '^left: ' "$OUT" >&2; }

# Signal a run in the middle
signalled() {
	local sig=$1 status=$2 pid
	: >"$OUT" # the run before was "running", too
	(exec_run sh -c 'echo running; sleep 100') >"$OUT" 2>"$ERR" </dev/null &
	pid=$!
	within 30 grep -q running "$OUT"
	kill "-$sig" "$(pgrep -f "^/build/softmr-run .*sleep 100" | head -n 1)"
	STATUS=0
	wait "$pid" || STATUS=$?
	judge "SIG$sig ends a run in the middle, and nothing is left" "$status" nothing_left
}

ends() {
	signalled TERM 143
	signalled INT 130
	signalled HUP 129
	signalled KILL 137
	STATUS=0
	in_container timeout 4 /build/softmr-run sleep 100 >"$OUT" 2>"$ERR" || STATUS=$?
	judge "timeout(1) ends it" 124 true
	run --timeout 4 sleep 100
	judge "--timeout ends it" 124 complained 'still running after 4 s'
	run --root sh -c 'echo c >/proc/sysrq-trigger'
	judge "a panic is told, with the console" 123 complained "the guest's kernel panicked"
	# the first node's command comes before the others have started
	run --root --nodes 16 --each sh -c 'echo c >/proc/sysrq-trigger'
	judge "... so is one that comes at once" 123 complained "the guest's kernel panicked"
	run --root sh -c 'echo "BUG: made by the test" >/dev/kmsg'
	judge "a splat fails the run and is shown" 123 complained 'BUG: made by the test'
	run sh -c 'sleep 1000 & echo started'
	judge "processes that outlive the command end with it" 0 is_output 'started\n'
}

# -- the caller's limits

limits() {
	STATUS=0
	in_container sh -c 'ulimit -S -f 1 && ulimit -S -v 500000 && exec "$@"' sh \
		/build/softmr-run sh -c 'ulimit -f; ulimit -v' >"$OUT" 2>"$ERR" </dev/null || STATUS=$?
	judge "soft limits that are too low for the guest hold for the command only" 0 is_output '1\n500000\n'
	STATUS=0
	# the guest's root may raise its own
	in_container sh -c 'ulimit -f 4000000 && exec "$@"' sh \
		/build/softmr-run --root --rw /mnt/share sh -c 'ulimit -f unlimited && truncate -s 3G /mnt/share/large' \
		>"$OUT" 2>"$ERR" </dev/null || STATUS=$?
	judge "a file beyond the hard limit is an error in the guest, and not its end" 1 complained 'File too large'
}

# -- messages with advice

advice() {
	run --runtime /usr true
	judge "a directory that is no runtime is said so" 125 complained '/usr has no vmlinux'
	run --mem 100000G true
	judge "too little room for memory is said so" 125 complained 'there is no room for the guest.s memory.*'
	SHM_OPTIONS=noexec run true
	judge "without exec on /dev/shm another directory serves" 0 [ ! -s "$ERR" ]
	SHM_OPTIONS=size=64m run true
	judge "... and where that is as small as Docker's" 0 [ ! -s "$ERR" ]
	STATUS=0
	in_container enosys --syscall=seccomp /build/softmr-run echo slow >"$OUT" 2>"$ERR" </dev/null || STATUS=$?
	judge "where seccomp filters are forbidden, ptrace serves" 0 is_output 'slow\n'
	STATUS=0
	in_container enosys --syscall=seccomp --syscall=ptrace /build/softmr-run true >"$OUT" 2>"$ERR" </dev/null || STATUS=$?
	judge "... and where that is, too, it is said so" 125 complained 'Neither seccomp filters nor ptrace'
	run --rw / true
	judge "--rw / is refused" 2 complained 'name directories of it'
	run --nodes 0 true
	judge "a number that is none is said so" 2 complained '--nodes takes a number from 1 to'
	run
	judge "no command is said so" 2 complained 'there is no COMMAND'
}

echo "TAP version 13"
[ -n "${SOFTMR_NO_BUILD:-}" ] || { host_require uml && with_lock image image_make && build_run; } >&2 || {
	not_ok "the runtime can be built"
	finish
}
mkdir -m 755 "$SHARED"
chmod 755 "$WORK"
container
pingpong
surroundings
statuses
streams
terminal
files
several
traced
mpi
netem
ends
limits
advice
finish
