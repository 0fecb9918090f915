#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# softmr run without a guest: its options, what it hands to the guest, and when it ends. In place of the guest's kernel it
# starts a program that speaks the guest's side of the line (selftests/beds/run_parts/guest.py).
# timeout: 120
# shellcheck disable=SC2317,SC2016 # functions are called through check; texts are for the shells that it starts
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

echo "TAP version 13"
RUNTIME=$WORK/runtime
mkdir -p "$RUNTIME/modules"
: >"$RUNTIME/modules/load"
: >"$RUNTIME/initrd"
cp "$TOP/scripts/lib/splats" "$RUNTIME"
cp "$TOP/selftests/beds/run_parts/guest.py" "$RUNTIME/vmlinux"
check "softmr-run can be built" make -C "$TOP/userspace/run" O="$WORK/build" || finish
RUN=${SOFTMR_RUN_PROGRAM:-$WORK/build/softmr-run}

# run ARG...: with the runtime that has no kernel
run() { "$RUN" --no-provider --runtime "$RUNTIME" "$@"; }

# gives EXPECTED ARG...: what the guest prints
gives() { is "$(run "${@:2}")" "$1"; }

# status EXPECTED COMMAND...
status() {
	local expected=$1 status=0
	shift
	"$@" || status=$?
	is "$status" "$expected"
}

# -- the command line

check "--help names each option" grep -qE '^  -t, --timeout=SECONDS ' <("$RUN" --help)
# The options that are not in the manual page
page_lacks() {
	"$RUN" --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--.*' | while read -r option; do
		grep -qE -- "^\.B.*$option( |$)" <(sed 's/\\-/-/g' "$TOP/userspace/run/softmr-run.1") || echo "$option"
	done
}
check "the manual page has all of them" is "$(page_lacks)" ''
check "a short option is the long one" gives 2 -n 2 -- job nodes
for bad in "--cpus 65" "--cpus 4294967297" "--nodes 0" "--mem 17179869185G" "--mem 1" "--timeout -1" "--frob"; do
	# shellcheck disable=SC2086 # two words
	check "$bad is refused" status 2 run $bad true
done
check "each word of --cmdline reaches the kernel" gives "$(seq -s ' ' -f w%g 100)" \
	--cmdline "$(seq -s ' ' -f w%g 100)" -- arguments w

# -- directories

mkdir -p "$WORK/a:b/c" "$WORK/x:/tmp" "$WORK/plain"
check "--rw of a directory with a colon" gives "$WORK/a:b $WORK/plain" --rw "$WORK/a:b" --rw "$WORK/plain" -- job rw
check "... which has the same name in the guest" gives "$WORK/x:/tmp" --rw "$WORK/x:/tmp" -- job rw-at
check "--at gives it another one" gives "$WORK/plain /mnt/data $WORK/a:b" \
	--rw "$WORK/plain" --rw "$WORK/a:b" --at /mnt/data --rw "$WORK/a:b" -- job rw-at
check_error "--at without --rw" "no --rw before it" run --at /mnt true
for bad in / /proc /sys/x /dev mnt /mnt/../proc /mnt/ /mnt/.. //proc; do
	check "--at $bad is refused" status 2 run --rw "$WORK/plain" --at "$bad" true
done
check_error "--rw / is refused" "name directories of it" run --rw / true

check "--trace writes to its directory" gives "$WORK/plain /run/softmr/trace /run/softmr/trace/t.json" \
	--trace "$WORK/plain/t.json" -- job rw rw-at trace
check "... and --at is for the --rw before it" gives "$WORK/a:b $WORK/plain /mnt/data /run/softmr/trace" \
	--rw "$WORK/a:b" --trace "$WORK/plain/t.json" --at /mnt/data -- job rw rw-at
check_error "--trace in a directory that is not there" "No such file" run --trace "$WORK/none/t.json" true
check_error "--trace of a directory" "no file" run --trace "$WORK/plain/" true

# -- processors

check "the guest hears how many processors it is to have" gives "4 ncpus=4" --cpus 4 -- job cpus arguments ncpus
check "... and of the host's first one" is \
	"$(run -- job cpuinfo | grep -c ^processor)" "$(grep -c '^processor' <(sed '/^$/q' /proc/cpuinfo))"
check "where seccomp filters are forbidden it has one" gives "1 ncpus=1 seccomp=off" \
	--cmdline lacks_seccomp -- job cpus arguments ncpus seccomp
check_error "... which is said to those who asked for more" "has one processor, not 4" \
	bash -c '"$@" && false' sh "$RUN" --no-provider --runtime "$RUNTIME" --cmdline lacks_seccomp --cpus 4 -- job cpus

# -- the caller's limits

# a number of processes that this machine does not have by chance; 6 is RLIMIT_NPROC
limited() { (ulimit -u 54321 && run -- job limit) | grep "6 54321 54321"; }
check "the guest hears of the caller's limits" limited
# each sets a limit that the guest's kernel could not live with
soft() { (ulimit -S -f 1 && ulimit -S -v 900000 && ulimit -S -n 64 && gives "" -- limits); }
check "its kernel is not under the soft ones" soft
hard() { (ulimit "$@" && run true); }
check_error "a hard limit of file size below the guest's memory is refused" "ulimit -Hf' is 900000 KiB, less than" hard -f 900000
check_error "... and one of address space" "ulimit -Hv' is 900000 KiB, less than" hard -v 900000
smaller() { (ulimit -f 900000 && status 3 run --mem 800M -- exit 3); }
check "... unless the memory is smaller" smaller

# -- the command's libibverbs: what its dynamic loader says. The loader is a script of ours

check "a program without a loader" cc -xc -o "$WORK/static" -static - <<<'int main(void) { return 0; }'
# program NAME LOADER: an x86-64 program that names this loader
program() { cc -xc -o "$WORK/bin/$1" -Wl,--dynamic-linker="$WORK/$2" - <<<'int main(void) { return 0; }'; }

# loader NAME PROGRAM-LIST PROVIDER-LIST: it says the one of the provider, and the other one of any other file
loader() {
	printf '#!/bin/sh\n[ "$1" = --list ] || exit 1\ncase $2 in */libsoftmr.so) echo "%s" ;; *) echo "%s" ;; esac\n' "$3" "$2" >"$WORK/$1"
	chmod +x "$WORK/$1"
}

# a libibverbs is a file that has the name of a function
verbs_file() { printf 'ELF%100s\0verbs_register_driver_%s\0' '' "$2" >"$WORK/$1"; }

# says PATTERN ARG...: what softmr-run says besides, or nothing
says() {
	PATH=$WORK/bin:$PATH "$RUN" --provider "$WORK/provider" --runtime "$RUNTIME" "${@:2}" >/dev/null 2>"$WORK/said" || true
	if [ "$1" ]; then grep -E -- "$1" "$WORK/said" || { cat "$WORK/said"; return 1; }; else ! grep . "$WORK/said"; fi
}

mkdir -p "$WORK/bin" "$WORK/provider"
touch "$WORK/provider/libsoftmr.so" "$WORK/provider/libsoftmr-rdmav34.so"
verbs_file libibverbs-34 34
verbs_file libibverbs-99 99
NEEDS="	libibverbs.so.1 => $WORK/libibverbs-34 (0x00007f0000000000)"
loader ld-needs.so "	libc.so.6 => /lib/libc.so.6 (0x1)
$NEEDS" ""
loader ld-later.so "	libc.so.6 => /lib/libc.so.6 (0x1)" "$NEEDS"
loader ld-newer.so "	libibverbs.so.1 => $WORK/libibverbs-99 (0x1)" ""
loader ld-lacks.so "	libibverbs.so.1 => not found" ""
loader ld-fails.so "lacks: error while loading shared libraries: libibverbs.so.1: cannot open shared object file" ""
loader ld-other.so "	libibverbs-1a2b3c.so.1.14.50.0 => $WORK/libibverbs-34 (0x1)" ""
loader ld-musl-x86_64.so.1 "$NEEDS" ""
printf '#!/bin/sh\ntouch "%s/ran"\n' "$WORK" >"$WORK/program-that-is-no-loader"
chmod +x "$WORK/program-that-is-no-loader"
for kind in needs later newer lacks fails other; do check "a program for the loader $kind" program "$kind" "ld-$kind.so"; done
program musl ld-musl-x86_64.so.1
program strange program-that-is-no-loader
printf '#!/usr/bin/env -S needs -u\n' >"$WORK/bin/script"
chmod +x "$WORK/bin/script"
check "libibverbs is found, and nothing is said" says "" needs
check "... but by -v" says "bin/needs loads $WORK/libibverbs-34 .interface 34 .*libsoftmr-rdmav34.so" -v needs
check "... through a script and env" says "bin/needs loads $WORK/libibverbs-34" -v script
check "... by a path that begins in --chdir" says "bin/./needs loads" -v --chdir "$WORK/bin" ./needs
check "a program that may load it later" says "would find $WORK/libibverbs-34" -v later
check "... of which nothing is said" says "" later
check "an interface that the provider does not know" says "does not know the interface of the libibverbs of .*number 99" newer
check "a libibverbs that is not there" says "lacks needs libibverbs, which this machine does not have" lacks
check "... of which the loader speaks as of a failure" says "fails needs libibverbs, which this machine does not have" fails
check "a copy with a name of its own is as good" says "" other
check "... and is found" says "bin/other loads $WORK/libibverbs-34 .interface 34" -v other
check "a program on musl" says "runs on musl" musl
check "a program without loader" says "" "$WORK/static"
check "what is no loader is not run outside of the guest" says "its loader finds no libibverbs" -v strange
check "... really" test ! -e "$WORK/ran"
# drivers EXPECTED [NAME=VALUE]...: what the guest's environment names
drivers() { is "$(env "${@:2}" "$RUN" --provider "$WORK/provider" --runtime "$RUNTIME" -- job env:RDMAV_DRIVERS)" "$1"; }
check "the guest's libibverbs gets the provider's name" drivers /run/softmr/provider/libsoftmr
check "... behind those that the caller names" drivers rxe:/run/softmr/provider/libsoftmr RDMAV_DRIVERS=rxe
check "... by the other variable, too" drivers rxe:/run/softmr/provider/libsoftmr IBV_DRIVERS=rxe
check_error "--with-verbs where the runtime has no libibverbs" "has no libibverbs of its own" run --with-verbs true
mkdir -p "$RUNTIME/verbs/bin"
cp "$WORK/static" "$RUNTIME/verbs/bin/ibv_nothing"
check "what the archive has, and the machine does not, is said" says "this machine has no ibv_nothing; --with-verbs" ibv_nothing
check "--with-verbs hands it over" gives "$RUNTIME/verbs" --with-verbs -- job verbs

# -- the end

check "the status is the command's" status 42 run -- exit 42
check "a guest that ends without a verdict: 123" status 123 run -- die
check "a splat: 123" status 123 run -- log "BUG: made by the test"
check "a guest that never boots: 125" status 125 env SOFTMR_BOOT_LIMIT=1 "$RUN" --no-provider --runtime "$RUNTIME" --cmdline mute true
check "--timeout: 124, as of timeout(1)" status 124 run -t 1 -- hang

check "--no-judge: a splat is no failure" status 0 run --no-judge -- log "BUG: made by the test"

# state PID: its letter in /proc
state() { sed -E 's/.*\) ([A-Z]).*/\1/' "/proc/$1/stat"; }
in_state() { [ "$(state "$1")" = "$2" ]; }

# Stopped for longer than its --timeout, it ends as if nothing had been
stopped() {
	local run guest status=0
	set -m
	"$RUN" --no-provider --runtime "$RUNTIME" -t 4 -- hang >/dev/null 2>&1 &
	run=$!
	set +m
	within 10 pgrep -P "$run" >/dev/null || return
	guest=$(pgrep -P "$run")
	nap 0.5
	kill -TSTP "$run"
	within 5 in_state "$run" T && within 5 in_state "$guest" T || return
	nap 5
	kill -CONT "$run"
	within 5 in_state "$guest" S || return
	nap 1
	not_running "$run" && echo "it has counted the time in which it was stopped" && return 1
	wait "$run" || status=$?
	is "$status" 124
}
check "SIGTSTP stops the guest, too, and the time does not count" stopped

# unread LIMIT STATUS COMMAND...: nobody reads what it writes, and it ends within LIMIT seconds of a quiet machine
unread() {
	local limit=$1 expected=$2 status=0
	shift 2
	mkfifo "$WORK/unread"
	exec {unread}<>"$WORK/unread"
	timeout -s KILL "$((PATIENCE * limit))" "$@" >"$WORK/unread" || status=$?
	exec {unread}>&-
	rm "$WORK/unread"
	is "$status" "$expected"
}
unread_run() { unread "$1" "$2" "$RUN" --no-provider --runtime "$RUNTIME" "${@:3}"; }

check "--timeout holds while nobody reads the output" unread_run 10 124 --timeout 2 -- flood
check "... also when the command has ended" unread_run 10 124 --timeout 2 -- print 100000
check "one SIGTERM of timeout(1) ends it, too" unread 15 124 timeout -s TERM 2 "$RUN" --no-provider --runtime "$RUNTIME" -- flood

# -- a guest gone wrong

# shellcheck disable=SC2329 # through check
bounded() { (ulimit -S -v 1000000 && status 123 run -- frame 4294967295); }
check "a frame that is too long ends the run, and costs no memory" bounded
check "a frame as long as they may be does not" gives "$(head -c 4096 /dev/zero | tr '\0' x)" -- print 4096

overrun() { run -- overrun | (nap 1; cat >/dev/null); is "${PIPESTATUS[0]}" 123; }
check "more output than the window ends the run" overrun
check_error "... so does a console without end" "printed more than 16 MiB on its console" run -t 20 -- console

# -- process 1, without a guest

if [ "$(id -u)" = 0 ]; then
	SOURCE=${SOFTMR_RUN_SOURCE:-$TOP/userspace/run}
	check "process 1 can be built for its /proc/cpuinfo" gcc -std=gnu11 -O1 -static -w -I "$SOURCE" -o "$WORK/run_cpuinfo" \
		"$TOP/selftests/beds/run_parts/cpuinfo.c" "$SOURCE"/{job,line,netlink,nodes,spawn,wire}.c
	cpuinfo() { unshare --mount --propagation private sh -c 'mkdir -p /run/softmr && mount -t tmpfs x /run/softmr && "$0" "$1"' \
		"$WORK/run_cpuinfo" "$1"; }
	check "/proc/cpuinfo has each processor of the guest as a core" is "$(cpuinfo 1 | tr -d '\t')" \
		"$(for ((i = 0; i < $(getconf _NPROCESSORS_ONLN); i++)); do
			printf '%s\n' "processor: $i" "model name: processor X" "cpu MHz: 2000.000" "siblings: $(getconf _NPROCESSORS_ONLN)" "core id: $i" \
				"cpu cores: $(getconf _NPROCESSORS_ONLN)" ''
		done)"
	check "a kernel with fewer than were asked for is refused" status 1 cpuinfo $(($(getconf _NPROCESSORS_ONLN) + 1))
	# a libibverbs as Python packages have it: under another name, and not among the process's own libraries
	shared() { gcc -shared -fPIC -o "$WORK/$1" -xc - -xnone "${@:2}"; }
	python_package() {
		mkdir -p "$WORK/usual" "$WORK/package"
		shared usual/libibverbs.so.1 -Wl,-soname,libibverbs.so.1 <<<'void verbs_register(void) {}' &&
			shared package/libibverbs-1a2b3c.so.1.14 -Wl,-soname,libibverbs-1a2b3c.so.1.14 \
				<<<'int puts(const char *s); void verbs_register(void) { puts("registered"); }' &&
			shared package/libsoftmr.so -Wl,--no-as-needed "$WORK/usual/libibverbs.so.1" \
				<<<'void verbs_register(void); __attribute__((constructor)) static void begin(void) { verbs_register(); }' &&
			shared package/extension.so -Wl,--no-as-needed,-rpath,"$WORK/package" "$WORK/package/libibverbs-1a2b3c.so.1.14" \
				<<<'#include <dlfcn.h>
				void *load(const char *plugin) { return dlopen(plugin, RTLD_NOW); }' &&
			gcc -xc -o "$WORK/package/python" - -ldl <<<'#include <dlfcn.h>
				int main(int argc, char **argv) {
					void *(*load)(const char *) = dlsym(dlopen(argv[1], RTLD_NOW), "load");
					return argc < 3 || !load(argv[2]);
				}' && cp "$WORK/build/plugin.so" "$WORK/package/libsoftmr-rdmav34.so"
	}
	# loads_as PLUGIN: what the extension's libibverbs prints when it loads PLUGIN
	loads_as() { unshare --mount --propagation private sh -c 'mkdir -p /run/softmr && mount -t tmpfs x /run/softmr &&
		mkdir /run/softmr/alias && exec "$0"/python "$0/extension.so" "$0/$1"' "$WORK/package" "$1"; }
	check "a libibverbs under another name" python_package
	check "... has the provider, by the plugin" is "$(loads_as libsoftmr-rdmav34.so)" registered
	check "... and not without" is "$(loads_as libsoftmr.so)" ""
else
	skip "process 1" "only root can have a /run of its own"
fi
finish
