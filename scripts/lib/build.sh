# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Everything that is built from this repository, and stacked on the guest image as a separate layer, so that a change of
# source costs seconds.
#
#   $BUILD/image/layer/         provider, tests, and the module (and the one that tests it) for each Debian kernel
#   $BUILD/image/layer.erofs    the same as QEMU's second disk
#   $BUILD/image/initrd-ROLE    the first stage of an emulated guest's boot
#   $BUILD/uml-FLAVOUR/layer/   UML's modules and softmr.ko for them

IMAGE=$BUILD/image
BUILD_ID=$(sha256sum <<<"$BUILD" | cut -c1-8)
LAYER=$IMAGE/layer
SELFTESTS_DIR=usr/lib/softmr/selftests

# once NAME KEY COMMAND...: run COMMAND unless it already succeeded for KEY
once() {
	local stamp=$BUILD/.stamp-$1 key=$2
	shift 2
	[ "$(cat "$stamp" 2>/dev/null)" = "$key" ] && return
	rm -f "$stamp"
	"$@" || return
	echo "$key" >"$stamp"
}

# A hash of these directories of the repository, and of the image that they are built in
source_key() {
	local d p=()
	for d in "$@"; do p+=("$TOP/$d"); done
	echo "$BASE $(hash_of "${p[@]}" "$TOP/scripts/lib/build.sh")"
}

# replace_dir DIR NEW: a UML guest may be running on DIR, so it is missing for a moment only
replace_dir() {
	mkdir -p "$(dirname "$1")"
	rm -rf "$1.old"
	[ ! -e "$1" ] || mv "$1" "$1.old"
	mv "$2" "$1"
	rm -rf "$1.old"
}

# -- the module for Debian's kernels

# module_indexes RELEASE: make modules.dep and the others for the image's modules and ours together
module_indexes() {
	local release=$1
	# shellcheck disable=SC2016 # expanded inside the image
	in_image sh -ec '
		all=/tmp/all/lib/modules/$1 ours=/build/layer/usr/lib/modules/$1
		mkdir -p "$all/kernel" "$all/updates"
		cp "/lib/modules/$1"/modules.builtin* "/lib/modules/$1/modules.order" "$all"
		mount --bind "/lib/modules/$1/kernel" "$all/kernel"
		cp "$ours"/updates/*.ko "$all/updates"
		depmod -b /tmp/all "$1"
		rm -f "$ours"/modules.*
		cp "$all"/modules.* "$ours"' sh "$release"
}

# A warning of Debian's compiler in our code is an error; lint runs sparse on the same trees
MODULE_FLAGS=(W=1 KCFLAGS=-Werror)
# Options of Kconfig, by role: on one bed the module has no RAW_PACKET QPs
declare -A MODULE_OPTIONS=([cloud]=CONFIG_INFINIBAND_SOFTMR_RAW=n)

# record_in_module FLAVOUR COPY: change a copy of kernel/ so that it records what this flavour is for: on "checked" basic
# blocks, which guide the fuzzers, and each object, by the files of selftests/record, which are linked into softmr.ko; on
# "gcov" executed lines
record_in_module() {
	local copy=$2 name
	case $1 in
	gcov) echo 'GCOV_PROFILE := y' >>"$copy/Kbuild" ;;
	checked)
		for name in cover.c live.c hooks.h; do
			cmp -s "$TOP/selftests/record/$name" "$copy/$name" || cp "$TOP/selftests/record/$name" "$copy/$name"
		done
		# shellcheck disable=SC2016 # the make of the kernel expands them
		{
			printf '\nsmr_record := -fsanitize-coverage=trace-pc -include $(src)/hooks.h\nccflags-y += $(smr_record)\n'
			for name in cover live; do
				printf '%s\n' "softmr-y += $name.o" {KASAN_SANITIZE,UBSAN_SANITIZE}"_$name.o := n" "CFLAGS_REMOVE_$name.o := \$(smr_record)"
			done
		} >>"$copy/Kbuild"
		;;
	esac
}

# make_module SOURCE ROLE OPTION...: compile a copy of SOURCE, $IMAGE/NAME-ROLE, by kbuild
make_module() {
	local source=$1 role=$2 name=${1##*/}
	shift 2
	sync_tree "$source" "$IMAGE/$name-$role"
	in_image make -C "/lib/modules/$(kernel_release "$role")/build" M="/build/$name-$role" "${MODULE_FLAGS[@]}" \
		${MODULE_OPTIONS[$role]:+"${MODULE_OPTIONS[$role]}"} "$@" modules
}

build_module() {
	local role=$1 release out
	release=$(kernel_release "$role")
	out=$LAYER/usr/lib/modules/$release
	make_module "$TOP/kernel" "$role" -j"$(nproc)"
	make_module "$TOP/selftests/kmod" "$role" -j"$(nproc)"
	mkdir -p "$out/updates"
	cp "$IMAGE/kernel-$role"/*.ko "$IMAGE/kmod-$role"/*.ko "$out/updates/"
	module_indexes "$release"
}

# -- provider and tests

build_provider() {
	in_image cmake -S /src/userspace -B /build/provider -GNinja -DCMAKE_INSTALL_PREFIX=/usr \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo
	in_image ninja -C /build/provider
	in_image env DESTDIR=/build/layer cmake --install /build/provider
}

# Input of selftests/guides.sh: the pages with their marks, and the programs that they describe. The guest has these,
# and a page that another test reads
GUIDES=(README Documentation/{learn,troubleshooting,storage,ai,debugging}.rst examples)
PAGES=(Documentation/conformance.rst "${GUIDES[@]}")

# The tests as the guest sees them: scripts unchanged, binaries in the same directory
build_selftests() {
	local dir=$LAYER/$SELFTESTS_DIR new=$IMAGE/selftests.new
	if [ -e "$TOP/selftests/Makefile" ]; then
		mkdir -p "$IMAGE/selftests" "$IMAGE/kselftest"
		cp "$UML_SOURCE"/tools/testing/selftests/*.h "$IMAGE/kselftest"
		in_image make -C /src/selftests O=/build/selftests KSELFTEST=/build/kselftest CPPFLAGS=-I/build/layer/usr/include \
			-j"$(nproc)"
	fi
	rm -rf "$new"
	cp -r "$TOP/selftests" "$new"
	cp "$TOP/Documentation/conformance.rst" "$new"
	mkdir "$new/guides"
	(cd "$TOP" && cp -r --parents "${GUIDES[@]}" "$new/guides")
	[ ! -d "$IMAGE/selftests" ] || find "$IMAGE/selftests" -maxdepth 1 -type f -perm -u+x -exec cp {} "$new" \;
	# the kernel's own tests, in the layout that kernel_rdma.sh expects
	mkdir "$new/kernel"
	cp -r "$UML_SOURCE"/tools/testing/selftests/{rdma,kselftest} "$new/kernel"
	replace_dir "$dir" "$new"
}

# -- the first stage of booting

# The modules without which a Debian kernel cannot reach its root
EARLY_MODULES=(virtio_pci virtio_blk erofs overlay virtio_console qemu_fw_cfg)

build_initrd() {
	local bed=$1 release=
	[ "$bed" = race ] || release=$(kernel_release "$bed")
	# shellcheck disable=SC2016 # expanded inside the image
	in_image sh -ec '
		bed=$1 release=$2; shift 2
		mkdir -p /tmp/i/bin /tmp/i/modules
		cp /usr/bin/busybox /tmp/i/bin
		cp /src/scripts/guest/early-init /tmp/i/init
		cp /src/scripts/guest/init /tmp/i/guest-init
		chmod 755 /tmp/i/init /tmp/i/guest-init
		: >/tmp/i/modules/list
		if [ "$release" ]; then
			modprobe -S "$release" -a --show-depends "$@" | while read -r verb module _; do
				[ "$verb" = insmod ] || continue
				[ -e "/tmp/i/modules/${module##*/}" ] && continue
				cp "$module" /tmp/i/modules
				echo "${module##*/}" >>/tmp/i/modules/list
			done
		fi
		cd /tmp/i
		find . | cpio --quiet -o -H newc >"/build/initrd-$bed"' sh "$bed" "$release" "${EARLY_MODULES[@]}"
}

# Guests may be booting from the disk, so it is replaced in one step
pack_layer() {
	# --all-root: as an ordinary user the files are ours, not root's
	rm -f "$IMAGE/layer.erofs.new"
	in_image mkfs.erofs --quiet --all-root -T 0 /build/layer.erofs.new /build/layer
	mv "$IMAGE/layer.erofs.new" "$IMAGE/layer.erofs"
}

# -- all of it

# build_part NAME KEY WHAT COMMAND...: build one part of the layer, unless it exists for KEY
build_part() {
	local name=$1 key=$2 what=$3
	shift 3
	once "$name" "$key" step "$what" "$@"
}

build_userland() {
	if [ -e "$TOP/userspace/CMakeLists.txt" ]; then
		build_part provider "$(source_key userspace kernel/uapi)" "provider" build_provider || return
	fi
	# the tests need the kernel's harness; a script that only boots a guest need not fetch the source for them
	if [ -d "$TOP/selftests" ] && [ -e "$UML_SOURCE/.done" ]; then
		build_part selftests "$(source_key selftests scripts/bench kernel/uapi userspace/provider/{softmrdv,why_table}.h "${PAGES[@]}")" \
			"selftests" build_selftests || return
	fi
}

# Everything that QEMU boots with the kernel of ROLE
build_role() {
	local role=$1
	if [ "$role" = race ]; then
		race_build_modules || return
	elif [ -e "$TOP/kernel/Kbuild" ]; then
		build_part "module-$role" "$(source_key kernel selftests/kmod VERSION)" "modules for Debian's $role kernel" build_module "$role" || return
	fi
	build_part "initrd-$role" "$(source_key scripts/guest)" "initrd for the $role kernel" build_initrd "$role" || return
	build_part layer "$(cat "$BUILD"/.stamp-module-* "$BUILD"/.stamp-provider "$BUILD"/.stamp-selftests 2>/dev/null)" \
		"guest disk layer" pack_layer
}

build_layer_parts() {
	mkdir -p "$LAYER/usr"
	build_userland || return
	[ "$1" = uml ] || build_role "$1"
}

# build_layer ROLE|race|uml: everything that a guest with that kernel boots from, except UML's own kernel and modules
build_layer() {
	with_lock image image_make || return
	[ "$1" != race ] || race_kernel || return
	with_lock "layer-$BUILD_ID" build_layer_parts "$1"
}

# build_layer_with_tests ROLE|race|uml
build_layer_with_tests() {
	with_lock linux-source uml_source_make || return
	build_layer "$1"
}

# -- the module for UML

build_uml_module() {
	local flavour=$1 dir release out layer=$BUILD/uml-$1/layer
	dir=$(uml_dir "$flavour")
	release=$(uml_release "$flavour")
	out=$layer.new/usr/lib/modules
	rm -rf "$layer.new"
	mkdir -p "$out"
	cp -r "$dir/root/lib/modules/$release" "$out"
	rm -f "$out/$release/build" "$out/$release/source"
	if [ -e "$TOP/kernel/Kbuild" ]; then
		sync_tree "$TOP/kernel" "$BUILD/uml-$flavour/kernel"
		record_in_module "$flavour" "$BUILD/uml-$flavour/kernel"
		make -C "$dir" ARCH=um M="$BUILD/uml-$flavour/kernel" W=1 -j"$(nproc)" modules
		sync_tree "$TOP/selftests/kmod" "$BUILD/uml-$flavour/kmod"
		make -C "$dir" ARCH=um M="$BUILD/uml-$flavour/kmod" W=1 -j"$(nproc)" modules
		mkdir -p "$out/$release/updates"
		cp "$BUILD/uml-$flavour"/{kernel,kmod}/*.ko "$out/$release/updates/"
	fi
	depmod -b "$layer.new/usr" "$release"
	replace_dir "$layer" "$layer.new"
}

build_uml_layer() {
	local flavour=$1
	with_lock "uml-$flavour" uml_make "$flavour" || return
	with_lock "layer-$flavour-$BUILD_ID" build_part "uml-$flavour" \
		"$(source_key kernel selftests/kmod selftests/record VERSION) $(uml_dir "$flavour")" \
		"modules for UML, $flavour" build_uml_module "$flavour" || return
	build_run_bed "$flavour"
}
