# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# softmr in the kernel's source: drivers/infiniband/sw/softmr without compat/.
#
# The probes of kernel/compat find out the tree's API, as in any build of the module; the preprocessor finds out which
# macros exist that compat/ tests for. unifdef removes the branches for other kernels from compat/;
# scripts/export.d/dissolve puts the rest into the sources that use it.

KERNEL_DRIVER=drivers/infiniband/sw/softmr
KERNEL_IDS=include/uapi/rdma/ib_user_ioctl_verbs.h
HOST_KERNEL=("${HOST_EXPORT[@]}" make:make gcc:gcc flex:flex bison:bison bc:bc /usr/include/stdlib.h:libc6-dev)

kernel_check() {
	must_have "a kernel source" Kbuild Kconfig MAINTAINERS drivers/infiniband/Kconfig drivers/infiniband/sw/Makefile \
		"$KERNEL_IDS" include/rdma/ib_verbs.h
	must_not_have 'RDMA_DRIVER_SOFTMR|SOFTMR|softmr' "$KERNEL_DRIVER" "$KERNEL_IDS" include/uapi/rdma/softmr-abi.h \
		drivers/infiniband/Kconfig
	[ -z "$KERNEL_BUILD" ] || [ -e "$KERNEL_BUILD/include/generated/autoconf.h" ] ||
		die 2 "$KERNEL_BUILD is not a prepared build directory; run make -C $TREE O=$KERNEL_BUILD modules_prepare"
}

# -- the API of the tree

# The architecture that is prepared fastest: User-Mode Linux has no build tools of its own
kernel_arch() {
	if [ -e "$KERNEL_BUILD/.config" ]; then
		sed -nE '1,5s,^# Linux/([a-z0-9_]+) .*,ARCH=\1,p' "$KERNEL_BUILD/.config"
	elif [ "$(uname -m)" = x86_64 ]; then
		echo ARCH=um
	fi
}

# kernel_make ARGS...: make in the tree, with a build directory outside. A tree in which something was built refuses
# that; then make gets a tree of links to it
kernel_make() {
	local source=$TREE
	if [ -e "$TREE/.config" ] || [ -e "$TREE/include/config" ]; then
		source=$WORK/links
		if [ ! -e "$source" ]; then
			cp -rs "$TREE" "$source"
			rm -rf "$source/.config" "$source/include/config" "$source/include/generated" "$source"/arch/*/include/generated
		fi
	fi
	# shellcheck disable=SC2046 # one word or none
	make -s -C "$source" O="$KERNEL_BUILD" $(kernel_arch) -j"$(nproc)" "$@" >>"$WORK/make.log" 2>&1
}

kernel_prepare() {
	KERNEL_BUILD=$WORK/build
	mkdir -p "$KERNEL_BUILD"
	say "Asking $TREE what its API is like (a minute) ..."
	KCONFIG_ALLCONFIG=$EXPORT_TOOLS/ask.config kernel_make allnoconfig && kernel_make modules_prepare && return
	tail -n 20 "$WORK/make.log" >&2
	die 1 "the kernel in $TREE cannot be prepared for a build; is the source complete?"
}

# The names that the conditions in compat/ test, except those that depend on the configuration
compat_names() {
	cat "$WORK/ask"/compat/*.h | perl -0pe 's,\\\n, ,g' |
		sed -nE 's,^[[:space:]]*#[[:space:]]*(if|ifdef|ifndef|elif)\b,,p' | sed 's,/\*.*,,' |
		grep -oE '\b[A-Za-z_][A-Za-z0-9_]*' | sort -u |
		grep -vE '^(defined|CONFIG_.*|IS_(ENABLED|REACHABLE|BUILTIN|MODULE)|LINUX_VERSION_CODE|KERNEL_VERSION)$' |
		grep -vE '^SMR_COMPAT_[A-Z0-9_]*_H$'
}

# A source for the preprocessor: which names are macros after the headers that compat/ includes?
compat_question() {
	local name
	# omit headers that only other kernels have
	cat "$WORK/ask"/compat/*.h | sed -nE 's,^#include (<[^>]+>).*,\1,p' | sort -u | while IFS= read -r name; do
		printf '#if __has_include(%s)\n#include %s\n#endif\n' "$name" "$name"
	done
	compat_names | grep -v '^HAVE_' | while IFS= read -r name; do
		printf '#ifdef %s\nsoftmr_answer "%s" 1\n#else\nsoftmr_answer "%s" 0\n#endif\n' "$name" "$name" "$name"
	done
}

# kernel_ask: write unifdef's options to $WORK/answers
kernel_ask() {
	local ask=$WORK/ask
	[ -n "$KERNEL_BUILD" ] || kernel_prepare
	cp -r "$WORK/driver" "$ask"
	cp "$TOP/VERSION" "$ask"
	compat_question >"$ask/question.c"
	# building any object runs the probes; it also proves that the answers are not "no" just because nothing
	# compiles
	# shellcheck disable=SC2046 # one word or none
	if ! make -C "$KERNEL_BUILD" $(kernel_arch) M="$ask" stats.o question.i >"$WORK/make.log" 2>&1; then
		tail -n 20 "$WORK/make.log" >&2
		die 1 "nothing of softmr compiles with the headers of $TREE"
	fi
	{
		sed -nE 's,^#define (HAVE_[A-Z0-9_]+) .*,-D\1=1,p' "$ask/compat/generated.h"
		sed -nE 's,^softmr_answer "(.*)" 1$,-D\1=1,p; s,^softmr_answer "(.*)" 0$,-U\1,p' "$ask/question.i"
		compat_names | grep '^HAVE_' |
			grep -vxFf <(sed -nE 's,^#define (HAVE_[A-Z0-9_]+) .*,\1,p' "$ask/compat/generated.h") | sed 's/^/-U/'
		awk '$2 == "=" && /^(VERSION|PATCHLEVEL|SUBLEVEL)/ { v[$1] = $3 > 255 ? 255 : $3 }
			END { print "-DLINUX_VERSION_CODE=" v["VERSION"] * 65536 + v["PATCHLEVEL"] * 256 + v["SUBLEVEL"] }' \
			"$TREE/Makefile"
	} >"$WORK/answers"
}

# -- the driver

# module_copy DIR: the module's source without build results
module_copy() {
	mkdir -p "$1"
	tar -C "$TOP/kernel" --exclude='*.o' --exclude='*.ko' --exclude='.*.cmd' --exclude='*.mod' --exclude='*.mod.c' \
		--exclude=generated.h --exclude='*.answer' --exclude='*.log' --exclude=Module.symvers --exclude=modules.order \
		-cf - . | tar -C "$1" -xf -
}

compat_dissolve() {
	local driver=$1 answers header
	mapfile -t answers <"$WORK/answers"
	rm -rf "$driver/compat/probes"
	for header in "$driver"/compat/*.h; do
		perl -pi -e 's/KERNEL_VERSION\(\s*(\d+),\s*(\d+),\s*(\d+)\s*\)/$1 * 65536 + $2 * 256 + $3/ge' "$header"
		unifdef -m -x2 "${answers[@]}" "$header" || die 1 "unifdef cannot read kernel/compat/${header##*/}"
	done
	"$EXPORT_TOOLS/dissolve" "$driver" || die 1 "kernel/compat cannot be dissolved for $TREE; see the line above"
}

# The lines of Kbuild for a module in the kernel's source: without "ifdef KBUILD_EXTMOD ... else"
kbuild_in_tree() {
	awk '
		/^ifdef KBUILD_EXTMOD/ { inside = 1; depth = 0; next }
		inside && /^if/ { depth++ }
		inside && /^endif/ { if (!depth--) { inside = 0; next } }
		inside && /^else/ && !depth { inside = 2; next }
		inside != 1' "$TOP/kernel/Kbuild"
}

# The Makefile: the objects of Kbuild, without its probes
kernel_makefile() {
	local kbuild=$WORK/Kbuild
	kbuild_in_tree >"$kbuild"
	echo '# SPDX-License-Identifier: GPL-2.0'
	# shellcheck disable=SC2016 # make's variable
	echo 'obj-$(CONFIG_INFINIBAND_SOFTMR) += softmr.o'
	echo
	printf '%s\n' "softmr-y := \\"
	sed -nE 's,^softmr-y *[:+]?= *,,p' "$kbuild" | tr -s ' \134' '\n' | grep '\.o$' | LC_ALL=C sort -u |
		sed 's,^,\t,; $!s,$, \\,'
	# shellcheck disable=SC2016
	grep -E '^softmr-\$\(' "$kbuild" || true
	# the includes of subfolders; that of compat/ is removed with compat/
	echo
	grep -B 1 -E '^(ccflags-y|CFLAGS_)' "$kbuild" | grep -E '^(#|ccflags-y|CFLAGS_)' | grep -v compat | sed -E 's,-I \$,-I$,'
}

kernel_driver() {
	local driver=$STAGE/$KERNEL_DRIVER file
	module_copy "$WORK/driver"
	kernel_ask
	mkdir -p "$(dirname "$driver")"
	cp -r "$WORK/driver" "$driver"
	compat_dissolve "$driver"
	rm -rf "$driver/uapi" "$driver/Kbuild"
	kernel_makefile >"$driver/Makefile"
	# a driver's version is that of the kernel
	perl -0pi -e '
		s,^(?:/\*[^\n]*\*/\n)?#ifdef SMR_VERSION\n(?:[^#\n][^\n]*\n)*#endif\n,,mg;
		s/^MODULE_VERSION\([^)]*\);\n//mg' "$driver"/*.c
	find "$driver" -name '*.[ch]' | while IFS= read -r file; do use_public_driver_id "$file"; done
	abi_header "$STAGE/include/uapi/rdma/softmr-abi.h"
	abi_header "$STAGE/include/uapi/rdma/softmr-why.h"
}

kernel_hooks() {
	insert after drivers/infiniband/Kconfig '^source "drivers/infiniband/sw/siw/Kconfig"' \
		"source \"$KERNEL_DRIVER/Kconfig\""
	insert after drivers/infiniband/sw/Makefile '^obj-.*\+= siw/' $'obj-$(CONFIG_INFINIBAND_SOFTMR)\t\t+= softmr/'
	add_driver_id "$KERNEL_IDS"
	insert_section MAINTAINERS '^Maintainers List' MAINTAINERS.kernel
	if [ -e "$TREE/Documentation/infiniband/index.rst" ]; then
		template softmr.rst >"$STAGE/Documentation.softmr.rst"
		insert before Documentation/infiniband/index.rst '^   sysfs$' '   softmr'
		mv "$STAGE/Documentation.softmr.rst" "$STAGE/Documentation/infiniband/softmr.rst"
	fi
}

export_kernel() {
	export_require "${HOST_KERNEL[@]}"
	kernel_check
	kernel_driver
	kernel_hooks
}

export_kernel_next() {
	say "RDMA_DRIVER_SOFTMR is $(driver_id "$TREE/$KERNEL_IDS"). For the same in rdma-core:"
	say "  scripts/export -k $TREE rdma-core DIR"
	say "To build it: scripts/config -m INFINIBAND_SOFTMR; make olddefconfig; make W=1 $KERNEL_DRIVER/"
}
