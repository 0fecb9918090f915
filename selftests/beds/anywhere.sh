#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# softmr run anywhere: the archive that "make tar" makes, unpacked and run by an ordinary user of a container without
# privileges, whose root is that of Debian 12 or 13, of a system with /usr/lib64, of one without libibverbs, or has one in
# /opt or under another name. None of them has a compiler. RDMA_CORE_SOURCES names sources of more releases of rdma-core,
# which are built for /opt.
# needs: uml-plain
# timeout: 1200
# shellcheck disable=SC2317 # check and judge call them
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
# shellcheck source=selftests/lib/container.sh
. "$TOP/selftests/lib/container.sh"

RUN_RUNTIME="$WORK/some where"
SHARED=$WORK/shared
# In a Debian's root that is not made for softmr
PACKAGES=(ibverbs-utils iproute2 python3-pyverbs)

# -- the archive

make_archive() { SOFTMR_BUILD=$BUILD OUT=$WORK/packages "$TOP/scripts/package.sh" tar; }

unpack_archive() {
	mkdir "$RUN_RUNTIME" && tar -C "$RUN_RUNTIME" --strip-components=1 -xf "$WORK"/packages/softmr-run-*-x86_64.tar.xz
}

small_enough() { [ "$(stat -c %s "$WORK"/packages/softmr-run-*.tar.xz)" -le 40000000 ]; }

# All that runs beside a C library of the machine is static, but for what a libibverbs loads
is_static() { ! readelf -l "$RUN_RUNTIME/$1" | grep INTERP; }

sources_named() { grep -q '^vmlinux, modules: linux-source' "$RUN_RUNTIME/SOURCES" && grep -q '^verbs: libibverbs1 of Debian' "$RUN_RUNTIME/SOURCES"; }

# -- trees

# debian SUITE DIR: its tree, as base_tar makes and keeps it
debian() (
	SUITE=$1
	# shellcheck source=scripts/lib/tree.sh
	. "$TOP/scripts/lib/tree.sh"
	base_tar fresh-verbs "${PACKAGES[@]}" && unpack_base "$2" && mkdir -p "$2/build" "$2/mnt/share"
)

# add_program TREE FROM PROGRAM: with the libraries that it needs, all in /usr/lib64
add_program() {
	local tree=$1 from=$2 program=$3 library
	cp -L "$from/usr/bin/$program" "$tree/usr/bin"
	# shellcheck disable=SC2016 # expanded in the tree
	for library in $(in_root "$from" ldd "/usr/bin/$program" | grep -oE '/[^ ]+\.so[^ ]*'); do
		[ -e "$tree/usr/lib64/${library##*/}" ] || cp -L "$from$library" "$tree/usr/lib64"
	done
}

# lib64 TREE FROM: a system with the paths of Fedora, of FROM's programs
lib64() {
	local tree=$1 from=$2 program
	mkdir -p "$tree"/{usr/bin,usr/sbin,usr/lib64,etc,proc,sys,dev,tmp,build,mnt/share} &&
		ln -s usr/lib64 "$tree/lib64" && ln -s usr/bin "$tree/bin" && ln -s usr/sbin "$tree/sbin" || return
	for program in bash sh cat ls sleep env id rmdir setpriv unshare touch true ibv_devinfo ibv_devices ibv_rc_pingpong; do
		add_program "$tree" "$from" "$program" || return
	done
	cp "$from"/etc/{passwd,group} "$tree/etc"
	echo /usr/lib64 >"$tree/etc/ld.so.conf"
	ldconfig -r "$tree"
}

# without_verbs TREE FROM: the same with none of libibverbs but a program that needs it
without_verbs() {
	cp -a "$2" "$1" && rm "$1"/usr/lib64/lib{ibverbs,nl}* "$1"/usr/bin/ibv_rc_pingpong "$1"/usr/bin/ibv_devinfo && ldconfig -r "$1"
}

# build_verbs SOURCE VERSION: its libibverbs and the programs of it, with the configuration and the plugins of /opt
build_verbs() {
	local at=/opt/rdma-core-$2
	rm -rf "$BUILD/image/anywhere"
	mkdir -p "$BUILD/image/anywhere" && cp -r "$1" "$BUILD/image/anywhere/source" &&
		in_image cmake -S /build/anywhere/source -B /build/anywhere/build -GNinja -DCMAKE_INSTALL_PREFIX="$at" \
			-DCMAKE_INSTALL_RPATH="$at/lib" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_SYSCONFDIR="$at/etc" -DNO_PYVERBS=1 \
			-DNO_MAN_PAGES=1 &&
		in_image nice ninja -C /build/anywhere/build libibverbs/all libibverbs/examples/all &&
		in_image env DESTDIR=/build/anywhere/root cmake --install /build/anywhere/build/libibverbs &&
		in_image env DESTDIR=/build/anywhere/root cmake --install /build/anywhere/build/libibverbs/examples
}

no_compiler() { ! in_root "$ROOT" sh -c 'command -v cc gcc make ld'; }

# -- what is run there

# shellcheck disable=SC2016 # the guest's shell expands it
PINGPONG='softmr-node 2 ${BIN}ibv_rc_pingpong -g 1 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3
	${BIN}ibv_rc_pingpong -g 1 10.0.0.2 && break; done; wait $!'

# works NAME PATH OPTION...: programs of libibverbs, in $BIN/ if it is set, use the guest's device; -v says which libibverbs
works() {
	local name=$1 path=$2
	shift 2
	run "$@" -v "${BIN-}ibv_devinfo"
	judge "$name: a device for ibv_devinfo" 0 said 'hca_id:[[:space:]]+softmr0'
	STATUS=0
	judge "... -v says which libibverbs that is" 0 complained "$path"
	run "$@" --nodes 2 sh -c "BIN=${BIN-}; $PINGPONG"
	judge "... ibv_rc_pingpong between two nodes" 0 said '^8192000 bytes in '
}

on_debian() {
	local suite=$1
	ROOT=$WORK/$suite
	check "a Debian $suite" debian "$suite" "$ROOT" || return
	check "... without compiler" no_compiler
	works "Debian $suite" "loads /(usr/)?lib/x86_64-linux-gnu/libibverbs.so.1 .interface 34 "
}

in_opt() {
	local source=$1 version BIN
	version=$(rdma_core_value "$source" PACKAGE_VERSION)
	ROOT=$WORK/trixie
	check "a libibverbs of rdma-core $version in /opt" build_verbs "$source" "$version" || return
	mkdir -p "$ROOT/opt"
	cp -r "$BUILD/image/anywhere/root/opt/rdma-core-$version" "$ROOT/opt"
	BIN=/opt/rdma-core-$version/bin/
	works "rdma-core $version in /opt" "loads /opt/rdma-core-$version/lib/libibverbs.so.1"
}

# renamed ROOT: Python's modules, and librdmacm with them, have a libibverbs of their own, under another name
renamed() {
	local lib=$1/usr/lib/x86_64-linux-gnu modules
	modules=("$lib"/librdmacm.so.1.* "$1"/usr/lib/python3/dist-packages/pyverbs/*.so)
	# a name of the same length
	LC_ALL=C sed 's/libibverbs\.so\.1/libibverbs-so.1/g' "$lib/libibverbs.so.1" >"$lib/libibverbs-so.1" &&
		LC_ALL=C sed -i 's/libibverbs\.so\.1/libibverbs-so.1/g' "${modules[@]}"
}

on_renamed() {
	ROOT=$WORK/trixie
	check "Python modules with a libibverbs under another name" renamed "$ROOT" || return
	run python3 -c '
from pyverbs import device, mr, pd
with device.Context(name="softmr0") as c, pd.PD(c) as p, mr.MR(p, 4096, 1) as m:
    print("registered", m.length, [line.split("/")[-1].strip() for line in open("/proc/self/maps") if "libibverbs" in line][0])'
	judge "... register memory with the device" 0 is_output 'registered 4096 libibverbs-so.1\n'
}

on_lib64() {
	ROOT=$WORK/lib64
	check "a system with /usr/lib64" lib64 "$ROOT" "$WORK/trixie" || return
	works "/usr/lib64" "loads /(usr/)?lib64/libibverbs.so.1"
}

on_bare() {
	ROOT=$WORK/bare
	check "a system without libibverbs" without_verbs "$ROOT" "$WORK/lib64" || return
	run ibv_devinfo
	judge "no libibverbs: a program that is not there has 127, and is said to be in the archive" 127 \
		complained "this machine has no ibv_devinfo; --with-verbs"
	run ibv_devices
	judge "... a program that needs it" 127 complained "ibv_devices needs libibverbs, .*--with-verbs"
	run --with-verbs ibv_devices
	judge "... which runs by --with-verbs" 0 said softmr0
	works "no libibverbs, --with-verbs" "verbs/bin is added" --with-verbs
}

surroundings() {
	ROOT=$WORK/bookworm
	SHM_OPTIONS=none run ibv_devices
	judge "without /dev/shm" 0 said softmr0
	TMP_OPTIONS=ro run ibv_devices
	judge "... without a /tmp that can be written to" 0 said softmr0
	SHM_OPTIONS=none TMP_OPTIONS=ro run ibv_devices
	judge "... without both it says what is missing" 125 complained "no room for the guest's memory"
	run --root sh -c 'touch /x && echo written'
	judge "the container's root is read-only, the guest's is not" 0 said written
	run --rw /mnt/share touch /mnt/share/x
	judge "... and --rw is the machine's" 0 test -e "$SHARED/x"
}

on_overlay() {
	local lower=$RUN_RUNTIME
	am_root || { skip "the archive on an overlay" "only root can mount one here" && return; }
	mkdir "$WORK"/{upper,work,overlay}
	mount -t tmpfs odd "$WORK/work" && mkdir "$WORK"/work/{upper,work} || return
	ln -s "$lower" "$WORK/lower"
	mount -t overlay -o "lowerdir=$WORK/lower,upperdir=$WORK/work/upper,workdir=$WORK/work/work" odd "$WORK/overlay" || return
	on_exit umount "$WORK/overlay" "$WORK/work"
	RUN_RUNTIME=$WORK/overlay run ibv_devices
	judge "the archive on an overlay" 0 said softmr0
}

echo "TAP version 13"
mkdir -m 777 "$SHARED"
chmod 755 "$WORK"
check "the guest image" eval 'host_require uml && with_lock image image_make' || finish
check "make tar" make_archive || finish
diag "$(stat -c '%s bytes' "$WORK"/packages/softmr-run-*.tar.xz)"
check "it is no larger than 40 MB" small_enough
check "it is unpacked" unpack_archive || finish
for program in softmr-run vmlinux; do check "$program is static" is_static "$program"; done
check "it names what it was made of" sources_named
on_debian bookworm
on_debian trixie
on_renamed
on_lib64
on_bare
surroundings
on_overlay
IFS=: read -ra sources <<<"$BASE/root/usr/src/rdma-core:${RDMA_CORE_SOURCES-}"
for source in "${sources[@]}"; do in_opt "$source"; done
finish
