# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The kernel of the bed qemu-race: x86-64 with KCSAN, built by the host's compiler from the source of the UML kernels.
#
#   $CACHE/race-KEY/      the build directory (the module is built against it); root/: its modules
#   $BUILD/race/layer/    these modules and softmr.ko; layer.erofs is the same as a disk

RACE_CONFIG=$TOP/scripts/race.config
RACE_BUILD=$BUILD/race
# How long an access is watched at most, in microseconds. During that time the other processor must be able to reach the
# same place; but it is emulated, and the host may not run it for milliseconds.
# shellcheck disable=SC2034 # qemu-boot.sh uses it
RACE_CMDLINE='kcsan.udelay_task=1000 kcsan.udelay_interrupt=300'

race_dir() {
	local key
	# shellcheck disable=SC2046 # two names, without blanks
	key=$({
		grep -hv '^#' $(uml_fragments plain) "$RACE_CONFIG"
		declare -f race_build race_configure race_make_kernel uml_configure
		echo "$BARRIERS_ONLY"
		cat "$UML_CC" "${UML_CC%/*}/precompiled.h"
		uml_source_key
		cat "$UML_SOURCE/.package"
		gcc -dumpfullversion
	} | sha256sum | cut -c1-12)
	echo "$CACHE/race-$key"
}

# Everything that UML's plain kernel has or would have if it were not UML, and what is special about this kernel; and
# nothing else
race_configure() {
	local out=$1
	mkdir -p "$out/uml"
	uml_configure plain "$out/uml"
	# shellcheck disable=SC2046 # two names, without blanks
	cat "$out/uml/.config" $(uml_fragments plain) "$RACE_CONFIG" >"$out/wanted.config"
	rm -r "$out/uml"
	KCONFIG_ALLCONFIG=$out/wanted.config make -C "$UML_SOURCE" ARCH=x86_64 O="$out" allnoconfig
	"$UML_SOURCE/scripts/config" --file "$out/.config" --set-str LOCALVERSION -race
	make -C "$UML_SOURCE" ARCH=x86_64 O="$out" olddefconfig
}

# Of what is not softmr, only the barriers are instrumented, where KCSAN would instrument all: an unlock orders what softmr
# has written before it. The whole kernel with KCSAN would be slow, and most of its reports would not be about softmr
BARRIERS_ONLY=CFLAGS_KCSAN=-D__KCSAN_INSTRUMENT_BARRIERS__

# race_make_kernel OUT TARGET...
race_make_kernel() { make -C "$UML_SOURCE" ARCH=x86_64 O="$1" CC="$UML_CC" "$BARRIERS_ONLY" "${@:2}"; }

race_build() {
	local out=$1 first=(fs/open.o drivers/net/dummy.o)
	race_configure "$out"
	PRECOMPILE=${first[*]} race_make_kernel "$out" "${first[@]}"
	race_make_kernel "$out" -j"$(nproc)" bzImage modules
	race_make_kernel "$out" INSTALL_MOD_PATH="$out/root" modules_install
}

race_make() {
	local dir
	dir=$(race_dir)
	[ -e "$dir/.done" ] && return
	# in place, as uml_make()
	mkdir -p "$dir"
	step "kernel with KCSAN" race_build "$dir" || return
	touch "$dir/.done"
	prune_cache 'race-*'
}

race_release() { cat "$(race_dir)/include/config/kernel.release"; }

# The kernel. Everything that it needs to reach its root is built in
race_image() { echo "$(race_dir)/arch/x86/boot/bzImage"; }

# The module with debug information, for scripts/faddr2line; the guest gets it without
race_build_module() {
	local dir release layer=$RACE_BUILD/layer out
	dir=$(race_dir) release=$(race_release)
	out=$layer.new/usr/lib/modules/$release
	rm -rf "$layer.new"
	mkdir -p "${out%/*}"
	cp -r "$dir/root/lib/modules/$release" "$out"
	rm -f "$out/build" "$out/source"
	sync_tree "$TOP/kernel" "$RACE_BUILD/kernel"
	# most accesses are those of checksums, which read no shared data except the users' memory
	printf 'KCSAN_SANITIZE_%s := n\n' net/crc.o net/crc_fold.o >>"$RACE_BUILD/kernel/Kbuild"
	make -C "$dir" ARCH=x86_64 M="$RACE_BUILD/kernel" W=1 KCFLAGS=-g -j"$(nproc)" modules
	sync_tree "$TOP/selftests/kmod" "$RACE_BUILD/kmod"
	make -C "$dir" ARCH=x86_64 M="$RACE_BUILD/kmod" "$BARRIERS_ONLY" -j"$(nproc)" modules
	mkdir -p "$out/updates"
	cp "$RACE_BUILD"/{kernel,kmod}/*.ko "$out/updates/"
	strip --strip-debug "$out"/updates/*.ko
	depmod -b "$layer.new/usr" "$release"
	replace_dir "$layer" "$layer.new"
	IN_ROOT_BINDS="$RACE_BUILD:/build" in_root "$BASE/root" mkfs.erofs --quiet --all-root -T 0 \
		/build/layer.erofs.new /build/layer
	mv "$RACE_BUILD/layer.erofs.new" "$RACE_BUILD/layer.erofs"
}

# race_build_modules: unless they exist
race_build_modules() {
	build_part module-race "$(source_key kernel selftests/kmod scripts/lib/race.sh VERSION) $(race_dir)" \
		"modules for the kernel with KCSAN" race_build_module
}

race_kernel() { with_lock linux-source uml_source_make && with_lock race race_make; }
