# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# softmr for arm64, built and run on an amd64 host: Debian's arm64 kernels and libraries are unpacked, and run in QEMU
# only. The module is compiled by the gcc that compiles Debian's kernels; the provider by clang, with an unpacked system
# as its sysroot.
#
#   $ARM64/tools/        Debian 13 for amd64: compiler, QEMU, and the headers and images of the arm64 kernels
#   $ARM64/root/         Debian 13 for arm64: libraries for the provider, and programs for the guest
#   $ARM64/kernels       a line for each role that was used so far: role, release, suites
#   $BUILD/arm64/        everything built from this repository, and the guest's initramfs of each role

ARM64_FORMAT=1 # raise it when old results must no longer be used
ARM64_APT=$CACHE/apt-arm64
ARM64_BUILD=$BUILD/arm64
ARM64_TRIPLET=aarch64-linux-gnu
# The roles of scripts/lib/roles.sh, and the kernels of the same suites that have pages of 16 KiB
# shellcheck disable=SC2034 # scripts/arm64.sh uses it
ARM64_ROLES=(newest stable oldest newest-16k stable-16k)

ARM64_TOOLS=(dash bash coreutils sed grep findutils mawk diffutils util-linux mount perl-base
	gcc-aarch64-linux-gnu pahole clang lld llvm make cmake ninja-build pkgconf python3 python3-docutils kmod libelf-dev
	cpio qemu-system-arm)
ARM64_PACKAGES=(busybox-static ibverbs-utils libibverbs-dev librdmacm-dev libnl-3-dev libjson-c-dev libc6-dev iproute2)

# Modules that the guest loads; their dependencies are added. virtio_* carry the verdict to the host.
ARM64_MODULES=(virtio_pci virtio_console ib_uverbs rdma_ucm veth softmr)

# -- parts from Debian's archive

# A separate apt state: no package of the guest image may be for arm64. The lists are read again after an hour.
arm64_lists() {
	[ -z "$(find "$ARM64_APT/kernels" -mmin -60 2>/dev/null)" ] || return 0
	# shellcheck disable=SC2034 # apt_refresh uses them
	local APT_DIR=$ARM64_APT APT_ARCHITECTURES='"amd64"; "arm64";'
	apt_refresh
}

# arm64_unpack TREE ARCHITECTURE PACKAGE...: unpack packages and their dependencies. None of their scripts is run.
arm64_unpack() {
	local tree=$1 architecture=$2 opts=() line
	shift 2
	while IFS= read -r line; do opts+=(--aptopt="$line"); done < <(apt_host_options)
	mkdir "$tree"
	# a file, since mmdebstrap of Debian 12 takes no pipe
	grep -E ' trixie(-updates)? ' "$ARM64_APT/sources.list" >"$ARM64_APT/trixie.list"
	# shellcheck disable=SC2016 # expanded by the hook's shell
	mmdebstrap --mode="$(if am_root; then echo root; else echo unshare; fi)" \
		--variant=extract --architectures="$architecture" "${opts[@]}" \
		--setup-hook='for d in bin sbin lib lib64; do mkdir -p "$1/usr/$d"; ln -sf "usr/$d" "$1/$d"; done' \
		--include="$(tr -s ' ' ',' <<<"$*")" trixie - "$ARM64_APT/trixie.list" |
		tar -C "$tree" --no-same-owner --exclude=./dev/\* --exclude=./var/cache/apt/\* --exclude=./var/lib/apt/\* \
			--exclude=./usr/share/doc/\* --exclude=./usr/share/man/\* --exclude=./usr/share/locale/\* -xf -
	mkdir -p "$tree"/{dev,proc,sys,tmp,etc}
}

# The tree in which everything is built: packages that run on this host. This does the work of their scripts.
arm64_tools() {
	local tree=$1/tools
	arm64_unpack "$tree" amd64 "${ARM64_TOOLS[@]}"
	[ -e "$tree/usr/bin/awk" ] || ln -s mawk "$tree/usr/bin/awk"
	mkdir "$tree"/{src,arm64,build}
}

# The arm64 tree. clang links with the start files of gcc's library: for arm64 it uses the version that it found for
# amd64.
arm64_root() {
	local out=$1 libgcc
	libgcc=$(cd "$out/tools/usr/lib/gcc/x86_64-linux-gnu" && printf 'libgcc-%s-dev\n' [0-9]*)
	arm64_unpack "$out/root" arm64 "${ARM64_PACKAGES[@]}" "$libgcc"
}

# The packages of one kernel: image, headers and, to run on this host, the build tools of the headers
arm64_kernel_packages() {
	awk -v release="$1" '
		$2 == "linux-image-" release || $2 == "linux-headers-" release {
			print $2 ":arm64"
			for (i = 4; i <= NF; i++) {
				if ($i ~ /^linux-(base|binary|modules)-/) print $i ":arm64"
				if ($i ~ /^linux-headers-/) print $i
				if ($i ~ /^linux-kbuild-/) print $i ":amd64"
			}
		}' "$ARM64_APT/kernels" | sort -u
}

# arm64_kernel ROLE: choose the kernel of that role, and unpack it in the tree of the tools
arm64_kernel() {
	local role=$1 kernel release deb debs=$ARM64/debs
	kernel=$(role_kernel "$ARM64_APT/kernels" "${role%-16k}" "arm64${role#"${role%-16k}"}")
	release=${kernel% *}
	rm -rf "$debs"
	mkdir "$debs"
	# shellcheck disable=SC2046 # words are meant
	(cd "$debs" && APT_DIR=$ARM64_APT apt_own apt-get -q download $(arm64_kernel_packages "$release"))
	for deb in "$debs"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -C "$ARM64/tools" --no-same-owner --keep-directory-symlink --transform 's:^\./lib/:./usr/lib/:' -xf -
	done
	rm -r "$debs"
	arm64_kernel_trim "$ARM64/tools" "$release"
	echo "$role $kernel" >>"$ARM64/kernels"
}

# arm64_kernel_trim TREE RELEASE: keep the modules that softmr may need
arm64_kernel_trim() {
	local tree=$1 release=$2 dir
	dir=$tree/usr/lib/modules/$release/kernel
	find "$dir" -mindepth 1 -maxdepth 1 ! -name drivers ! -name net ! -name lib ! -name fs ! -name crypto ! -name arch \
		-exec rm -r {} +
	find "$dir/drivers" -mindepth 1 -maxdepth 1 ! -name infiniband ! -name net ! -name virtio ! -name char ! -name block \
		-exec rm -r {} +
	rm -rf "$dir/drivers/net/ethernet" "$dir/drivers/net/wireless" "$dir/drivers/infiniband/hw"
	find "$dir" -name '*.ko.xz' -exec xz -d {} +
}

arm64_key() {
	{
		echo "$ARM64_FORMAT ${ARM64_TOOLS[*]} ${ARM64_PACKAGES[*]}"
		declare -f arm64_unpack arm64_tools arm64_root arm64_kernel_trim role_places
	} | sha256sum | cut -c1-16
}

arm64_into() {
	step "package lists for arm64" arm64_lists && step "tools for arm64" arm64_tools "$1" &&
		step "arm64 libraries" arm64_root "$1"
}

arm64_make() { cached "$ARM64/done" arm64_into; }

# arm64_kernel_make ROLE
arm64_kernel_make() {
	[ -z "$(arm64_release "$1")" ] || return 0
	step "package lists for arm64" arm64_lists && step "arm64's $1 kernel" arm64_kernel "$1"
}

# The release (uname -r) of the arm64 kernel that has a role
arm64_release() { awk -v role="$1" '$1 == role { print $2 }' "$ARM64/kernels" 2>/dev/null; }

# -- what is built from this repository

# in_tools COMMAND...: run in the tree of the tools; the repository is at /src, $ARM64 at /arm64, build/arm64 at /build
in_tools() {
	mkdir -p "$ARM64_BUILD"
	IN_ROOT_BINDS="$TOP:/src $ARM64:/arm64 $ARM64_BUILD:/build" in_root "$ARM64/tools" "$@"
}

# arm64_module ROLE: the module with W=1; a warning is an error. Debian's headers name the gcc that compiled the kernel;
# that of Debian 12 is not available here.
arm64_module() {
	local role=$1
	sync_tree "$TOP/kernel" "$ARM64_BUILD/kernel-$role"
	in_tools make -C "/lib/modules/$(arm64_release "$role")/build" M="/build/kernel-$role" \
		ARCH=arm64 CC="$ARM64_TRIPLET-gcc" "${MODULE_FLAGS[@]}" -j"$(nproc)" modules
}

# Provider and tools
arm64_provider() {
	in_tools cmake -S /src/userspace -B /build/provider -GNinja \
		-DCMAKE_TOOLCHAIN_FILE=/src/userspace/cmake/ClangCross.cmake \
		-DSMR_CROSS_TARGET="$ARM64_TRIPLET" -DCMAKE_SYSROOT=/arm64/root \
		-DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$ARM64_TRIPLET" -DSMR_WERROR=ON
	in_tools ninja -C /build/provider
	in_tools env DESTDIR=/build/layer cmake --install /build/provider
}

# The tests in C, which need a header of the kernel's source
arm64_selftests() {
	mkdir -p "$ARM64_BUILD"/{selftests,kselftest}
	cp "$UML_SOURCE"/tools/testing/selftests/*.h "$ARM64_BUILD/kselftest"
	in_tools make -C /src/selftests O=/build/selftests KSELFTEST=/build/kselftest LDFLAGS=-fuse-ld=lld \
		CPPFLAGS=-I/build/layer/usr/include -j"$(nproc)" \
		CC="clang --target=$ARM64_TRIPLET --sysroot=/arm64/root"
}

# arm64_initramfs ROLE TEST...: everything that the guest has: programs and libraries, modules, what is built here, and
# init
arm64_initramfs() {
	local role=$1 release
	shift
	release=$(arm64_release "$role")
	printf '%s\n' "$@" >"$ARM64_BUILD/tests-$role"
	cp "$ARM64_BUILD/kernel-$role/softmr.ko" "$ARM64_BUILD/softmr-$role.ko"
	# shellcheck disable=SC2016 # expanded by the inner shell
	in_tools sh -ec '
		role=$1 release=$2; shift 2
		all=/tmp/all/lib/modules/$release
		mkdir -p "$all/kernel" "$all/updates" /tmp/i/modules
		cp "/lib/modules/$release"/modules.builtin* "/lib/modules/$release/modules.order" "$all"
		mount --bind "/lib/modules/$release/kernel" "$all/kernel"
		cp "/build/softmr-$role.ko" "$all/updates/softmr.ko"
		depmod -b /tmp/all "$release"
		modprobe -d /tmp/all -S "$release" -a --show-depends "$@" >/tmp/depends
		while read -r verb module _; do
			[ "$verb" = insmod ] || continue
			[ -e "/tmp/i/modules/${module##*/}" ] && continue
			cp "$module" /tmp/i/modules
			echo "${module##*/}" >>/tmp/i/modules/list
		done </tmp/depends
		cp -a /arm64/root/. /tmp/i
		cp -a /build/layer/. /tmp/i
		cd /tmp/i
		rm -rf usr/share usr/include usr/lib/gcc "usr/lib/$0/"*.a "usr/lib/$0/gconv" "usr/lib/$0/perl"* var
		cp /src/scripts/guest/arm64-init init
		chmod 755 init
		if [ "$(cat "/build/tests-$role")" ]; then
			mkdir selftests
			cp "/build/tests-$role" selftests/list
			while read -r test; do cp "/build/selftests/$test" selftests; done <selftests/list
		fi
		find . | cpio --quiet -o -H newc >"/build/initramfs-$role"' \
		"$ARM64_TRIPLET" "$role" "$release" "${ARM64_MODULES[@]}"
}

# -- the guest

# Where the kernel's package has the kernel: in /boot, or with its modules
arm64_vmlinuz() {
	local release file
	release=$(arm64_release "$1")
	for file in "$ARM64/tools/boot/vmlinuz-$release" "$ARM64/tools/usr/lib/modules/$release/vmlinuz"; do
		if [ -e "$file" ]; then echo "$file" && return; fi
	done
	warn "the packages of $release have no vmlinuz in /boot nor in /usr/lib/modules/$release"
	return 1
}

# arm64_boot ROLE DIR: boot it; the console goes to DIR/console, the guest's report to DIR/report. The guest powers
# itself off; otherwise it is killed.
arm64_boot() {
	local role=$1 dir=$2 tree=$ARM64/tools qemu
	qemu=("$tree/lib64/ld-linux-x86-64.so.2" --library-path "$tree/usr/lib/x86_64-linux-gnu"
		"$tree/usr/bin/qemu-system-aarch64" -L "$tree/usr/share/qemu")
	mkdir -p "$dir"
	: >"$dir/report"
	# loglevel=7: the console is searched for splats
	timeout -k 5 "${SOFTMR_ARM64_LIMIT:-300}" setpriv --pdeathsig KILL "${qemu[@]}" \
		-M virt -cpu "${SOFTMR_ARM64_CPU:-max,pauth-impdef=on}" -accel tcg,thread=multi -smp 2 -m 1G -nodefaults \
		-no-user-config -display none -no-reboot -nic none \
		-kernel "$(arm64_vmlinuz "$role")" -initrd "$ARM64_BUILD/initramfs-$role" \
		-append "console=ttyAMA0 loglevel=7 panic=-1 mitigations=off nokaslr norandmaps raid=noautodetect \
watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60" \
		-serial "file:$dir/console" -device virtio-serial-pci \
		-chardev "file,id=report,path=$dir/report" -device virtserialport,chardev=report,name=softmr.report \
		</dev/null >"$dir/qemu" 2>&1
}

# -- all of it

arm64_source_key() {
	local d p=()
	for d in "$@"; do p+=("$TOP/$d"); done
	echo "$ARM64 $(hash_of "${p[@]}" "$TOP/scripts/lib/arm64.sh")"
}

arm64_build_provider() {
	build_part arm64-provider "$(arm64_source_key userspace kernel/uapi)" "provider for arm64" arm64_provider
}

# arm64_build_module ROLE
arm64_build_module() {
	build_part "arm64-module-$1" "$(arm64_source_key kernel)" "module for arm64's $1 kernel" arm64_module "$1"
}

arm64_build_selftests() {
	with_lock linux-source uml_source_make || return
	build_part arm64-selftests "$(arm64_source_key selftests kernel/uapi userspace/provider/{softmrdv,why_table}.h)" "tests for arm64" arm64_selftests
}

# arm64_build_guest ROLE TEST...: what the guest boots from; module, provider and these tests must exist
arm64_build_guest() {
	build_part "arm64-guest-$1" "$* $(cat "$BUILD"/.stamp-arm64-{provider,selftests,module-"$1"} 2>/dev/null) \
$(hash_of "$TOP/scripts/guest/arm64-init")" "arm64 guest, $1 kernel" arm64_initramfs "$@"
}

ARM64=$CACHE/arm64-$(arm64_key)
