# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The runtime of softmr-run: all that it takes, in one directory, so that a package only copies it.
#
#   $BUILD/run/                  made by "scripts/build.sh run"; installed as /usr/lib/softmr/uml
#     softmr-run                 what a user runs; also where it is linked to from (/usr/lib/softmr/run)
#     vmlinux  initrd            the guest's kernel, and its first process
#     modules/                   what is mounted at the guest's /lib/modules/RELEASE
#     modules/load               the modules that it loads, in their order
#     providers/VERSION/         libsoftmr-rdmav*.so for the libibverbs of rdma-core VERSION
#     splats                     what a healthy kernel never prints
#   $BUILD/uml-FLAVOUR/run/      the same for uml-boot.sh, which has modules and provider in layers of its own

RUN_RUNTIME=$BUILD/run
RUN_TOOLS=$BUILD/run-tools
# In this order, each with what it needs
RUN_MODULES=(bridge ib_umad rdma_ucm softmr)

run_build_tools() { make -C "$TOP/userspace/run" O="$RUN_TOOLS"; }

# An initrd can be made without root by the kernel's own tool
run_initrd() {
	local flavour=$1 out=$2
	printf 'dir /dev 0755 0 0\nnod /dev/console 0600 0 0 c 5 1\nfile /init %s 0755 0 0\n' "$RUN_TOOLS/init" |
		"$(uml_dir "$flavour")/usr/gen_init_cpio" - >"$out"
}

# run_fill_base FLAVOUR DIR: the part that both have
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

# The modules that a guest loads, each after those that it needs
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

# run_add_provider DIR TREE: the provider that is installed in TREE, for the libibverbs that it was built for
run_add_provider() {
	local dir=$1 tree=$2 plugin file version
	for plugin in "$tree"/usr/lib/*/libibverbs/libsoftmr-rdmav*.so; do
		file=$(realpath "$plugin")
		# libsoftmr.so.1.VERSION.56.1, where VERSION is softmr's
		version=${file##*/libsoftmr.so.*."$(cat "$TOP/VERSION")".}
		[ "$version" != "$file" ] || return
		mkdir -p "$dir/providers/$version"
		cp "$file" "$dir/providers/$version/${plugin##*/}"
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

# The runtime as it is installed
build_run() {
	build_layer uml && build_uml_layer plain || return
	with_lock "run-$BUILD_ID" build_part run "$(run_key "$(cat "$BUILD/.stamp-uml-plain" "$BUILD/.stamp-provider")")" \
		"softmr-run" run_fill "$LAYER"
}

# run_package TREE DESTDIR: for a package's build, whose provider is installed in TREE. Fetches nothing and installs
# nothing on the machine: Build-Depends and SOFTMR_LINUX_SOURCE are all that is needed
run_package() {
	uml_has_seccomp "${SOFTMR_LINUX_SOURCE:-/dev/null}" ||
		die 1 "${SOFTMR_LINUX_SOURCE:-no linux-source} does not do for softmr-uml: User-Mode Linux needs its seccomp mode." \
			"Build by 'make deb', name a newer source (SOFTMR_LINUX_SOURCE=FILE)," \
			"or leave the package out (DEB_BUILD_PROFILES=pkg.softmr.nouml)"
	uml_source_make && uml_make plain && step "modules for UML, plain" build_uml_module plain &&
		step "softmr-run" run_fill "$1" && run_install "$2"
}
