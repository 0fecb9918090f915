# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The runtime of softmr-run: everything that it needs, in one directory, so that a package only copies it.
#
#   $BUILD/run/                  made by "scripts/build.sh run"; installed as /usr/lib/softmr/uml
#     softmr-run                 what a user runs; also where it is linked to from (/usr/lib/softmr/run)
#     vmlinux  initrd            the guest's kernel, and its first process
#     modules/                   what is mounted at the guest's /lib/modules/RELEASE
#     modules/load               the modules that it loads, in their order
#     provider/                  the provider, and what libibverbs loads before it, by the names of all its releases
#     splats                     what a healthy kernel never prints
#   $BUILD/uml-FLAVOUR/run/      the same for uml-boot.sh, which has modules and provider in layers of its own

RUN_RUNTIME=$BUILD/run
RUN_TOOLS=$BUILD/run-tools
RUN_TREE=$BUILD/run-tree
# In this order, each after its dependencies
RUN_MODULES=(bridge ib_umad rdma_ucm softmr)

run_build_tools() { make -C "$TOP/userspace/run" O="$RUN_TOOLS" CFLAGS="-O2 -g -ffile-prefix-map=$TOP=."; }

# The kernel's own tool can make an initrd without root. Its files have no time, so that it is the same each time
run_initrd() {
	local flavour=$1 out=$2
	printf 'dir /dev 0755 0 0\nnod /dev/console 0600 0 0 c 5 1\nfile /init %s 0755 0 0\n' "$RUN_TOOLS/init" |
		"$(uml_dir "$flavour")/usr/gen_init_cpio" -t 0 - >"$out"
}

# run_fill_base FLAVOUR DIR: the common part of both
run_fill_base() {
	local flavour=$1 dir=$2
	run_build_tools
	mkdir -p "$dir"
	cp "$RUN_TOOLS/softmr-run" "$TOP/scripts/lib/splats" "$dir"
	run_initrd "$flavour" "$dir/initrd"
}

run_fill_bed() {
	local flavour=$1 dir=$BUILD/uml-$1/run
	rm -rf "$dir.new"
	run_fill_base "$flavour" "$dir.new"
	ln -s "$(uml_dir "$flavour")/vmlinux" "$dir.new/vmlinux"
	replace_dir "$dir" "$dir.new"
}

# The modules that a guest loads, each after its dependencies
run_module_order() {
	local root=$1 release=$2 verb path
	modprobe -d "$root" -S "$release" -a --show-depends "${RUN_MODULES[@]}" | while read -r verb path _; do
		[ "$verb" != insmod ] || echo "${path#*/"$release"/}"
	done | awk '!seen[$0]++'
}

run_fill_modules() {
	local dir=$1 release
	release=$(uml_release plain)
	cp -r "$BUILD/uml-plain/layer/usr/lib/modules/$release" "$dir/modules"
	# the module of softmr's own tests
	find "$dir/modules/updates" -name '*.ko' ! -name softmr.ko -delete
	run_module_order "$BUILD/uml-plain/layer/usr" "$release" >"$dir/modules/load"
	grep -q '/softmr\.ko' "$dir/modules/load"
}

# run_add_provider DIR TREE: the provider that is installed in TREE
run_add_provider() {
	local dir=$1/provider tree=$2 plugin
	mkdir "$dir"
	cp "$(realpath "$tree"/usr/lib/*/libsoftmr.so.1)" "$dir/libsoftmr.so"
	cp "$RUN_TOOLS/plugin.so" "$dir"
	for plugin in "$tree"/usr/lib/*/libibverbs/libsoftmr-rdmav*.so; do
		ln -s plugin.so "$dir/${plugin##*/}"
	done
}

# run_fill TREE: with the provider that is installed in TREE
run_fill() {
	local dir=$RUN_RUNTIME
	rm -rf "$dir.new"
	run_fill_base plain "$dir.new"
	cp "$(uml_dir plain)/vmlinux" "$dir.new/vmlinux"
	run_fill_modules "$dir.new"
	run_add_provider "$dir.new" "$1"
	replace_dir "$dir" "$dir.new"
}

# run_install DESTDIR: as the package softmr-uml has it
run_install() {
	local dest=$1 page
	mkdir -p "$dest/usr/lib/softmr" "$dest/usr/bin" "$dest/usr/share/man/man1"
	rm -rf "$dest/usr/lib/softmr/uml"
	cp -r "$RUN_RUNTIME" "$dest/usr/lib/softmr/uml"
	ln -sf uml/softmr-run "$dest/usr/lib/softmr/run"
	ln -sf ../lib/softmr/uml/softmr-run "$dest/usr/bin/softmr-run"
	cp "$TOP/userspace/run/softmr-run.1" "$dest/usr/share/man/man1"
	for page in softmr-node softmr-rsh; do ln -sf softmr-run.1 "$dest/usr/share/man/man1/$page.1"; done
}

# A hash of the runtime's sources; kernel and modules have keys of their own
run_key() {
	echo "$(hash_of "$TOP/userspace/run" "$TOP/scripts/lib/run.sh" "$TOP/scripts/lib/splats" "$TOP/VERSION") $1"
}

# build_run_bed FLAVOUR: after build_uml_layer
build_run_bed() {
	with_lock "run-$BUILD_ID" build_part "run-$1" "$(run_key "$(uml_dir "$1")")" "softmr-run for uml-$1" \
		run_fill_bed "$1"
}

# -- the installed runtime: built by the host's compiler, without the guest image

# The provider, installed in $RUN_TREE
run_build_provider() {
	rm -rf "$RUN_TREE"
	cmake -S "$TOP/userspace" -B "$BUILD/run-provider" -DSMR_TOOLS=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib/run \
		-DCMAKE_C_FLAGS="-ffile-prefix-map=$TOP=. -ffile-prefix-map=$BUILD=."
	cmake --build "$BUILD/run-provider" --target softmr -j "$(nproc)"
	DESTDIR=$RUN_TREE cmake --install "$BUILD/run-provider/provider"
}

# run_costs: the cost of the missing parts, as "MINUTES MIB": minutes of this machine's processors. Measured on two of
# 2.6 GHz
run_costs() {
	local seconds=30 mib=60
	if [ ! -e "$UML_SOURCE/.done" ]; then
		seconds=$((seconds + 60)) mib=$((mib + 1000))
	fi
	# the compiler is in the name of the kernel's directory
	if [ ! -e "$UML_SOURCE/.done" ] || ! have gcc || [ ! -e "$(uml_dir plain)/.done" ]; then
		seconds=$((seconds + 720 / $(nproc))) mib=$((mib + 300))
	fi
	echo "$(((seconds + 59) / 60)) $mib"
}

# run_announce: print the cost, before anything is installed or built
run_announce() {
	local minutes mib free
	read -r minutes mib < <(run_costs)
	mkdir -p "$CACHE" "$BUILD"
	free=$(df -Pm "$CACHE" | awk 'END { print $4 }')
	say "This takes about $minutes minutes on $(nproc) processors, and $mib MB in $CACHE and $BUILD."
	[ "$free" -ge "$mib" ] || die 1 "$CACHE has $free MB left; XDG_CACHE_HOME=DIR names a directory with more"
}

# run_has_source: the source of the guest's kernel is there, or apt fetches it
run_has_source() {
	[ -e "$UML_SOURCE/.done" ] || [ -n "${SOFTMR_LINUX_SOURCE:-}" ] || have apt-get && return
	warn "the guest's kernel is made of the source of Linux 6.16 or newer: fetch it (kernel.org, linux-7.2.tar.xz), and type" \
		"SOFTMR_LINUX_SOURCE=FILE scripts/build.sh run"
	return 1
}

# build_run: all that is to be paid or fetched is said at once, and first
build_run() {
	local ready=yes
	run_announce
	run_has_source || ready=
	host_require run && [ "$ready" ] || return
	with_lock linux-source uml_source_make && build_uml_layer plain || return
	with_lock "run-$BUILD_ID" build_part run-provider "$(hash_of "$TOP"/{userspace,kernel/uapi,VERSION,scripts/lib/run.sh})" \
		"provider for softmr run" run_build_provider || return
	with_lock "run-$BUILD_ID" build_part run "$(run_key "$(cat "$BUILD/.stamp-uml-plain" "$BUILD/.stamp-run-provider")")" \
		"softmr-run" run_fill "$RUN_TREE"
}

# run_package TREE DESTDIR: for the build of a package, whose provider is installed in TREE. It downloads nothing and
# installs nothing on the machine: it only needs Build-Depends and SOFTMR_LINUX_SOURCE
run_package() {
	[ -n "${SOFTMR_LINUX_SOURCE:-}" ] ||
		die 1 "there is no linux-source for softmr-uml. Build by 'make deb', name one (SOFTMR_LINUX_SOURCE=FILE)," \
			"or leave the package out (DEB_BUILD_PROFILES=pkg.softmr.nouml)"
	uml_source_make && uml_make plain && step "modules for UML, plain" build_uml_module plain &&
		step "softmr-run" run_fill "$1" && run_install "$2"
}
