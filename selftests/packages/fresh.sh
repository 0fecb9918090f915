#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# softmr on a fresh, minimal Debian: fresh.sh bookworm|trixie packages|source, fresh.sh bookworm|trixie|sid
# suite, fresh.sh bookworm 32bit|upgrade
#
# packages: build the packages, install them with apt, boot, reboot with a persistent link, upgrade the kernel, meet a
# libibverbs that does not fit, purge. source: make install, boot, make uninstall. suite: build the packages, install the
# provider, and run the release's own suite of rdma-core on UML. 32bit: build the packages for i386, install the provider
# in a 32-bit tree, and run programs of it on the newest 64-bit kernel. upgrade: with the provider of one release, libibverbs
# is upgraded to each later one and back, on UML. Everything but the boots is native. SOFTMR_DEBS names a directory with
# packages that were built already, on any of the releases: the provider is for all of them.
# shellcheck disable=SC2317 # check calls them

TOP=$(cd "$(dirname "$0")/../.." && pwd)
SUITE=${1:-trixie} MODE=${2:-packages}
case $SUITE:$MODE in
bookworm:packages | bookworm:source | bookworm:suite | trixie:packages | trixie:source | trixie:suite | sid:suite | bookworm:32bit | bookworm:upgrade) ;;
*)
	echo "usage: fresh.sh bookworm|trixie packages|source, fresh.sh bookworm|trixie|sid suite, fresh.sh bookworm 32bit|upgrade" >&2
	exit 2
	;;
esac
case $MODE in
suite | upgrade) NATIVE=1 ;;
32bit) NATIVE=1 ARCH=i386 ;;
*) NATIVE='' ;;
esac
# shellcheck source=scripts/lib/all.sh
. "$TOP/scripts/lib/all.sh"
# shellcheck source=selftests/packages/machine.sh
. "$TOP/selftests/packages/machine.sh"
enter_namespace "$@"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
ROOT=$WORK/root

OUT=$WORK/packages
# The releases after bookworm
LATER=(trixie sid)

# -- the machine and what is installed on it

make_machine() {
	machine_base && unpack_base "$ROOT" &&
		in_machine apt-get -q -o APT::Update::Error-Mode=any update
}

# build_debs TREE: the packages are built in a tree of the same suite, by "make deb" in an unpacked "make dist"
build_debs() {
	local tree=$1
	build_base && unpack_base "$tree" || return
	mkdir -p "$OUT"
	if [ -n "${SOFTMR_DEBS:-}" ]; then
		cp "$SOFTMR_DEBS"/*.deb "$OUT"
		return
	fi
	SOFTMR_BUILD=$WORK/dist OUT=$OUT "$TOP/scripts/package.sh" dist || return
	in_tree "$tree" sh -ec '
		mkdir /root/src
		tar -C /root/src --strip-components=1 -xf /packages/softmr-*.tar.xz
		DEB_BUILD_PROFILES=pkg.softmr.nouml make -C /root/src deb OUT=/packages
		rm -r /root/src'
}

# With softmr-uml, whose linux-source the suite has in an older version than sid does
build_dep() {
	mkdir -p "$ROOT/root/control" && cp -r "$TOP/debian" "$ROOT/root/control" &&
		in_machine apt-get -s build-dep /root/control >"$WORK/apt" && grep '^Inst linux-source ' "$WORK/apt"
}

install_debs() {
	in_machine sh -ec 'cd /packages
		apt-get -q -y install ./softmr_*.deb ./softmr-dkms_*.deb ./softmr-tools_*.deb ./libsoftmr1_*.deb'
}

headers() { in_machine apt-get -q -y install "linux-headers-$1"; }

built_for() {
	in_machine modinfo -k "$1" softmr && in_machine dkms status -m softmr -k "$1" | tee /dev/stderr | grep ': installed'
}

# The kernel of cloud images, of the backports: another version and another configuration
upgrade_kernel() {
	in_machine apt-get -q -y -t "$SUITE-backports" install linux-image-cloud-amd64 linux-headers-cloud-amd64 || return
	KERNEL=$(cd "$ROOT/lib/modules" && printf '%s\n' *cloud* | sort -V | tail -n 1)
}

# other_libibverbs RELEASE [FUNCTION]: the suite's own under the name of a release that does not exist, and without a
# function of its interface with providers
other_libibverbs() {
	# shellcheck disable=SC2016 # expanded in the machine
	in_machine sh -ec '
		cd /root
		apt-get -q download libibverbs1
		dpkg-deb -R libibverbs1_*.deb other
		cd other/usr/lib/x86_64-linux-gnu
		old=$(ls libibverbs.so.1.*.*.*)
		new=$(echo "$old" | sed -E "s/[0-9]+\.[0-9]+$/$1/")
		mv "$old" "$new"
		[ -z "$2" ] || sed -i "s/$2/X${2#?}/g" "$new"
		ln -sf "$new" libibverbs.so.1
		cd /root
		sed -i "s/^Version: .*/Version: $1-1/" other/DEBIAN/control
		rm other/DEBIAN/md5sums
		dpkg-deb -b other "libibverbs1-$1.deb"
		rm -r other libibverbs1_*.deb' sh "$1" "${2:-}"
}

# An upgrade of libibverbs leaves the provider
apt_keeps_it() {
	in_machine apt-get -s install /root/libibverbs1-96.0.deb >"$WORK/apt" || return
	! grep '^Remv ' "$WORK/apt"
}

purge() {
	rm -r "$ROOT/etc/systemd/system/softmr-link@.service.d"
	in_machine apt-get -q -y purge softmr softmr-dkms softmr-tools libsoftmr1
}

# leftovers: files that are called softmr or mention it, outside of apt's and of the test's own directories
leftovers() {
	(
		cd "$ROOT" || return
		find . -xdev \( -path ./root -o -path ./packages -o -path ./var/log -o -path ./var/cache \) -prune \
			-o -iname '*softmr*' -print
		grep -rl softmr etc lib/modules/*/modules.dep var/lib/dpkg/status var/lib/dkms 2>/dev/null
	)
}

nothing_left() {
	leftovers >"$WORK/left"
	cat "$WORK/left"
	[ ! -s "$WORK/left" ]
}

# -- the ways

fresh_packages() {
	check "the packages are built on $SUITE" build_debs "$WORK/build" || return
	rm -rf "$WORK/build"
	check "apt-get build-dep finds on $SUITE all that they are built with" build_dep
	check "headers of the machine's kernel $KERNEL" headers "$KERNEL"
	check "apt installs the packages" install_debs
	check "DKMS has built the module for $KERNEL" built_for "$KERNEL"
	check "a libibverbs of another release is made" other_libibverbs 96.0
	check "and one whose interface the provider does not know" other_libibverbs 97.0 ibv_cmd_create_counters
	check "apt upgrades libibverbs, and leaves the provider" apt_keeps_it
	boot_check
	check "another kernel with its headers" upgrade_kernel
	check "DKMS has built the module for $KERNEL" built_for "$KERNEL"
	check "the packages are purged" purge
	check "nothing is left of them" nothing_left
	wait_machine
	for what in "doctor is content" "a persistent link" "the link is there" "ibv_rc_pingpong" \
		"doctor is content with the link" \
		"the kernel has nothing to complain of" \
		"the link is there after a reboot" "ibv_rc_pingpong after a reboot" \
		"libibverbs is upgraded" "ibv_rc_pingpong with it" \
		"a libibverbs that does not fit is installed" "the provider declines it" "other providers go on" \
		"the kernel has nothing to complain of after that"; do
		check "on the machine: $what" in_verdict "$what"
	done
}

boot_check() {
	add_check "$TOP/selftests/packages/guest-check"
	echo "$MODE" >"$ROOT/etc/fresh-mode"
	check "the machine's disk" prepare_boot "$KERNEL" && run_machine 600
}

prepare_boot() { make_initrd "$1" && make_disk "$1"; }

make_install() { in_machine make -C /root/src install KDIR="/lib/modules/$KERNEL/build"; }

files_of_machine() {
	(cd "$ROOT" && find . -xdev \( -path ./root -o -path ./var/cache -o -path ./var/log \) -prune -o -print) |
		LC_ALL=C sort
}

same_files() {
	files_of_machine >"$WORK/after"
	diff "$WORK/before" "$WORK/after"
}

tools() {
	in_machine apt-get -q -y install make gcc libc6-dev cmake python3 pkgconf libibverbs-dev libnl-3-dev libjson-c-dev \
		xz-utils ibverbs-utils ibverbs-providers "linux-headers-$KERNEL"
}

unpack_source() {
	mkdir -p "$OUT" "$ROOT/root/src"
	SOFTMR_BUILD=$WORK/dist OUT=$OUT "$TOP/scripts/package.sh" dist &&
		tar -C "$ROOT/root/src" --strip-components=1 -xf "$OUT"/softmr-*.tar.xz
}

fresh_source() {
	check "make dist" unpack_source || return
	in_machine apt-get -q -y install make >/dev/null 2>&1
	files_of_machine >"$WORK/before"
	check_error "make install says what the machine lacks" 'nothing was built or installed' make_install
	check "and has installed nothing" same_files
	check "tools and headers" tools
	files_of_machine >"$WORK/before"
	check "make install" make_install
	check "the module is there for $KERNEL" in_machine modinfo -k "$KERNEL" softmr
	boot_check
	wait_machine
	for what in "a link of what make install has installed" "ibv_rc_pingpong" "the kernel has nothing to complain of"; do
		check "on the machine: $what" in_verdict "$what"
	done
	# the tree as it was before the boot
	rm -f "$ROOT/usr/local/sbin/fresh-check" "$ROOT/etc/fresh-mode" "$ROOT/etc/initramfs-tools/conf.d/fresh" \
		"$ROOT/boot/initrd.img-$KERNEL"
	check "make uninstall" in_machine make -C /root/src uninstall
	check "nothing is left of it" nothing_left
}

# The suite is on UML, so it needs a provider, but no kernel's module
suite_tree() {
	in_machine apt-get -q -y install python3-pyverbs ibverbs-providers ibverbs-utils rdma-core iproute2 kmod procps &&
		in_machine sh -ec 'cd /packages; apt-get -q -y install ./libsoftmr1_*.deb' &&
		mkdir -p "$ROOT/usr/lib/softmr" && cp -r "$TOP/selftests" "$ROOT/usr/lib/softmr" &&
		cp "$TOP/Documentation/conformance.rst" "$ROOT/usr/lib/softmr/selftests"
}

fresh_suite() {
	check "the packages are built on $SUITE" build_debs "$ROOT" || return
	check "the provider and rdma-core's suite are installed" suite_tree || return
	"$TOP/scripts/uml-boot.sh" --no-build --flavour checked --tree "$ROOT" \
		/usr/lib/softmr/selftests/rdma_core.sh >"$WORK/out" 2>&1
	report $? "the guest ends as it should"
	tap_include "$WORK/out"
}

# The tree knows of later suites, and takes nothing from there by itself
upgrade_tree() {
	local suite
	base_tar fresh-verbs ibverbs-utils iproute2 && unpack_base "$ROOT" || return
	for suite in "${LATER[@]}"; do echo "deb $(debian_mirror) $suite main"; done >"$ROOT/etc/apt/sources.list.d/later.list"
	echo "APT::Default-Release \"$SUITE\";" >"$ROOT/etc/apt/apt.conf.d/91suite"
	in_machine apt-get -q -o APT::Update::Error-Mode=any update &&
		in_machine apt-get -q -y install ibverbs-providers kmod &&
		in_machine sh -ec 'cd /packages; apt-get -q -y install ./libsoftmr1_*~deb12_*.deb'
}

# What libibverbs of that suite needs, which those before it can do with
c_library_of() { in_machine apt-get -q -y -t "$1" install libc6 libc-bin base-files; }

# libibverbs_of SUITE: it is of that suite, and the provider is as it was
libibverbs_of() {
	in_machine apt-get -q -y --allow-downgrades install {libibverbs1,ibverbs-utils,ibverbs-providers}/"$1" &&
		in_machine dpkg-query -W libibverbs1 libsoftmr1 | tee /dev/stderr | grep '^libsoftmr1.*~deb12'
}

# shellcheck disable=SC2016 # the guest's shell expands it
device_there() {
	"$TOP/scripts/uml-boot.sh" --no-build --flavour plain --tree "$ROOT" sh -ec '
		rdma link add softmr0 type softmr netdev eth0
		sleep 1
		ibv_devinfo -d softmr0
		ibv_rc_pingpong -d softmr0 -g 1 >/dev/null & sleep 1
		ibv_rc_pingpong -d softmr0 -g 1 127.0.0.1
		wait $!'
}

fresh_upgrade() {
	local suite
	check "the packages are built on $SUITE" build_debs "$WORK/build" || return
	rm -rf "$WORK/build"
	check "the provider is installed" upgrade_tree || return
	check "libibverbs of $SUITE: its device works" device_there
	for suite in "${LATER[@]}"; do
		check "the C library of $suite" c_library_of "$suite" || return
		check "libibverbs is now that of $suite" libibverbs_of "$suite" || continue
		check "... the device works" device_there
	done
	for suite in "${LATER[0]}" "$SUITE"; do
		check "libibverbs is again that of $suite" libibverbs_of "$suite" || continue
		check "... the device works" device_there
	done
}

tree_32bit() {
	in_machine apt-get -q -y install ibverbs-providers ibverbs-utils &&
		in_machine sh -ec 'cd /packages; apt-get -q -y install ./libsoftmr1_*.deb' &&
		cp "$TOP/selftests/packages/guest-32bit" "$ROOT"
}

fresh_32bit() {
	check "the packages are built for i386" build_debs "$ROOT" || return
	check "the provider is installed" tree_32bit || return
	"$TOP/scripts/qemu-boot.sh" --no-build --share "$ROOT" /mnt/share/guest-32bit >"$WORK/out" 2>&1
	report $? "the guest ends as it should"
	tap_include "$WORK/out"
}

echo "TAP version 13"
case $MODE in
suite) fresh_suite; finish ;;
upgrade) fresh_upgrade; finish ;;
32bit) fresh_32bit; finish ;;
esac
check "a fresh machine with $SUITE" make_machine || finish
KERNEL=$(machine_kernel)
with_lock image image_make || { not_ok "QEMU of the guest image"; finish; }
case $MODE in
packages) fresh_packages ;;
source) fresh_source ;;
esac
finish
