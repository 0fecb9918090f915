#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/layers notices each kind of breach of the layer law, and each kind of circle. It is given copies of the tree,
# each broken in one way. Their objects are stubs that have no calls but the one that the case is about.
# timeout: 240
# shellcheck disable=SC2317 # functions are called by refused
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
MASTER=$WORK/master TREE=$WORK/tree OBJECTS=$WORK/objects PAGE=$WORK/tree/Documentation/architecture.rst

# What the law is about, and what a build leaves
make_master() {
	mkdir -p "$MASTER/Documentation" "$WORK/built/userspace"
	cp "$TOP/Documentation/architecture.rst" "$MASTER/Documentation"
	cp -r "$TOP/kernel" "$TOP/userspace" "$TOP/selftests" "$MASTER"
	cp -r "$TOP/kernel" "$WORK/built"
	cp -r "$TOP/userspace/run" "$WORK/built/userspace"
	: | cc -c -x c -o "$WORK/empty.o" -
	(cd "$WORK/built" && find . -name '*.c' | sed 's/c$/o/' | xargs -n 1 ln -f "$WORK/empty.o")
}

# The objects are stubs of the present sources
build() {
	cp -rl "$WORK/built" "$OBJECTS"
	cp -r --remove-destination "$TREE/kernel/." "$OBJECTS/kernel"
}

# object FILE TEXT: the object of TREE/FILE.c is made of TEXT instead
object() {
	rm "$OBJECTS/$1.o" &&
		printf '%s\n' "$2" | cc -c -x c -o "$OBJECTS/$1.o" -
}

layers() { "$TOP/scripts/layers" "$TREE" kernel="$OBJECTS/kernel" userspace/run="$OBJECTS/userspace/run" >"$WORK/out" 2>&1; }

# refused DESCRIPTION PATTERN COMMAND...: after COMMAND, the script prints one complaint, which matches PATTERN
refused() {
	local what=$1 pattern=$2 status=0
	shift 2
	rm -rf "$TREE" "$OBJECTS"
	cp -r "$MASTER" "$TREE"
	"$@" || status=1
	[ -e "$OBJECTS" ] || build
	layers && status=1
	grep -qE "$pattern" "$WORK/out" && [ "$(wc -l <"$WORK/out")" = 1 ] || status=1
	report "$status" "$what"
}

# -- the breaches

# append FILE LINE: to a file that is there
append() { [ -f "$TREE/$1" ] && printf '%s\n' "$2" >>"$TREE/$1"; }

upward_call() {
	build
	object kernel/qp/core 'void smr_stub(void); void smr_stub(void) {}'
	object kernel/net/wire 'void smr_stub(void); void f(void); void f(void) { smr_stub(); }'
}

side_call() {
	build
	object kernel/key 'int smr_stub;'
	object kernel/stats 'extern int smr_stub; int *f(void); int *f(void) { return &smr_stub; }'
}

# Both are of one rank, so that only the circle is wrong
circle_of_includes() {
	append kernel/net/wire.c '#include "net/group.h"'
	append kernel/net/group.c '#include "net/wire.h"'
}

circle_of_calls() {
	build
	object kernel/net/wire 'void smr_a(void); void smr_b(void); void smr_a(void) { smr_b(); }'
	object kernel/net/group 'void smr_a(void); void smr_b(void); void smr_b(void) { smr_a(); }'
}

circle_of_both() {
	append kernel/qp/ah.c '#include "qp/gsi.h"' || return
	build
	object kernel/qp/ah 'int smr_stub;'
	object kernel/qp/gsi 'extern int smr_stub; int *f(void); int *f(void) { return &smr_stub; }'
}

circle_in_run() {
	append userspace/run/netem.h '#include "job.h"'
	append userspace/run/job.h '#include "netem.h"'
}

circle_of_calls_in_run() {
	build
	object userspace/run/job 'void a(void); void b(void); void a(void) { b(); }'
	object userspace/run/netem 'void a(void); void b(void); void b(void) { a(); }'
}

run_object_missing() {
	build
	rm "$OBJECTS/userspace/run/job.o"
}

new_file() {
	echo '/* nothing */' >"$TREE/kernel/qp/newcomer.c"
	build
	cp "$WORK/empty.o" "$OBJECTS/kernel/qp/newcomer.o"
}

old_object() {
	build
	append kernel/mem.c '/* changed */'
}

foreign_header_first() { sed -i '0,/^#include/s::#include "stats.h"\n#include:' "$TREE/kernel/mem.c"; }

echo "TAP version 13"
make_master
cp -r "$MASTER" "$TREE"
build
layers
report $? "the tree as it is"
refused "an upward include" '^kernel/net/wire.c:[0-9]+: rank 0 includes qp/core.h of rank 4$' \
	append kernel/net/wire.c '#include "qp/core.h"'
refused "an upward call" '^kernel/net/wire.c: rank 0 uses smr_stub of qp/core.c of rank 4$' upward_call
refused "a file that any rank may use includes a ranked file" '^kernel/stats.h:[0-9]+: any file may use this one,.* includes key.h$' \
	append kernel/stats.h '#include "key.h"'
refused "a file that any rank may use uses a ranked file's variable" '^kernel/stats.c: any file may use this one,.* uses smr_stub of key.c$' side_call
refused "a circle of includes" '^kernel/net/.*: a circle: .*includes.*includes' circle_of_includes
refused "a circle of calls" '^kernel/net/.*: a circle: .*uses smr_.*uses smr_' circle_of_calls
refused "a circle of an include and a call" '^kernel/qp/(ah|gsi): a circle: .*(uses smr_stub.*includes|includes.*uses smr_stub)' \
	circle_of_both
refused "a file without a rank" '^kernel/qp/newcomer.c: it has no rank' new_file
refused "a version test outside compat/" '^kernel/mem.c:[0-9]+: only compat/ knows of kernel versions' \
	append kernel/mem.c '#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)'
refused "preemption is disabled" '^kernel/mem.c:[0-9]+: on PREEMPT_RT locks sleep' append kernel/mem.c 'void f(void) { preempt_disable(); }'
refused "what a probe found, outside compat/" '^kernel/mem.c:[0-9]+: only compat/ uses what probes found' append kernel/mem.c '#ifdef HAVE_GUARD'
refused "an include that is not written from kernel/" '^kernel/qp/sq.c:[0-9]+: includes sq.h, which is not in kernel/' \
	append kernel/qp/sq.c '#include "sq.h"'
refused "a header that is not the own one comes first" '^kernel/mem.c:[0-9]+: the first include must be its own header' foreign_header_first
refused "a file of the table that is not there" 'there is no kernel/qp/nothing.c or .h$' \
	sed -i 's:^4     qp/core:& qp/nothing:' "$PAGE"
refused "an object of another source" '^kernel/mem.c: .* has no object of it' old_object
refused "a circle of includes in userspace" '^userspace/run/(job|netem): a circle: .*includes.*includes' circle_in_run
refused "a circle of calls in userspace" '^userspace/run/(job|netem): a circle: .*uses [ab] .*uses [ab] ' circle_of_calls_in_run
refused "an object in userspace that is not there" '^userspace/run/job.c: .* has no object of it' run_object_missing
refused "a test that includes a file of userspace" '^selftests/lib/buf.h:[0-9]+: includes userspace/provider/softmrdv.h: ' \
	append selftests/lib/buf.h '#include "../../userspace/provider/softmrdv.h"'
finish
