#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make host, make install, make uninstall: who builds, whose the files are, what is left. Compiler, cmake and the kernel's
# build are made up. And what DKMS would leave out without a word.
# timeout: 60
# shellcheck disable=SC2317 # functions are called through check
set -uo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

echo "TAP version 13"

# -- DKMS

# config [OPTION]: a kernel's configuration without that option
config() {
	sed -n 's/^BUILD_EXCLUSIVE_CONFIG="\(.*\)"$/\1/p' "$TOP/packaging/dkms.conf.in" | tr ' ' '\n' | sed 's/$/=m/' |
		grep -v "^${1:-none}=" >"$WORK/config"
}
# ahead_warns: make ahead, with the headers of a kernel of that configuration
ahead_warns() {
	mkdir -p "$WORK/ahead/9.9.9/usr/src/linux-headers-9.9.9"
	cp "$WORK/config" "$WORK/ahead/9.9.9/usr/src/linux-headers-9.9.9/.config"
	# shellcheck disable=SC2030,SC2031 # of a shell of its own
	(
		AHEAD=$WORK/ahead
		usable_kernels() { echo 9.9.9; }
		step() { :; }
		eval "$(sed -n '/^ahead() {/,/^}/p' "$TOP/scripts/ahead.sh")"
		ahead sid sid
	) 2>&1
}
config
check "a kernel that has all options" grep -q "softmr builds for sid's kernel 9.9.9" <(ahead_warns)
config CONFIG_CRC32
check "one that DKMS would leave out is told by make ahead" \
	grep -q "DKMS would leave softmr out of sid's kernel 9.9.9, which has no CONFIG_CRC32" <(ahead_warns)

# -- a source of another user's

TREE=$WORK/tree KERNEL=$WORK/kernel BIN=$WORK/bin DEST=$WORK/dest
am_root || { skip "make install" "only root can build as another user" && finish; }
chmod 755 "$WORK"
mkdir -p "$TREE" "$KERNEL/include/generated" "$BIN"
cp -r "$TOP"/{Makefile,VERSION,kernel,userspace,packaging,scripts} "$TREE"
printf '#!/bin/sh\necho cc\n' >"$BIN/cc"
printf '#!/bin/sh\n' | tee "$BIN/pkg-config" >"$BIN/ldconfig"
# it notes who builds
cat >"$BIN/cmake" <<-END
	#!/bin/sh
	case \$1 in
	-S) id -un >>$WORK/builders ;;
	--install) mkdir -p "\$DESTDIR/usr/bin" && echo tool >"\$DESTDIR/usr/bin/softmr" ;;
	esac
END
chmod +x "$BIN"/*
echo '#define UTS_RELEASE "9.9.9"' >"$KERNEL/include/generated/utsrelease.h"
# shellcheck disable=SC2016 # make's variables
printf '%s\n' 'OUT := $(INSTALL_MOD_PATH)/lib/modules/$(KERNELRELEASE)/updates' 'modules: ; echo module >$(M)/softmr.ko' \
	'modules_install: ; mkdir -p $(OUT) && cp $(M)/softmr.ko $(OUT)' >"$KERNEL/Makefile"
: >"$WORK/builders"
chmod 666 "$WORK/builders"
chown -R nobody "$TREE"

# tree_make USER ARG...: make in that tree, as USER
tree_make() {
	local user=$1
	shift
	env -u SOFTMR_BUILD -u XDG_CACHE_HOME PATH="$BIN:$PATH" setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups \
		make -C "$TREE" KDIR="$KERNEL" "$@"
}
# builds WHO...: those who have built until now
builds() { is "$(paste -sd ' ' "$WORK/builders")" "$*"; }
nothing_of_root() { [ -z "$(find "$TREE" -user root | tee /dev/stderr)" ]; }
installed() { is "$(cd "$DEST" && stat -c '%U %a %n' usr usr/bin/softmr lib/modules/9.9.9/updates/softmr.ko | paste -sd ' ')" \
	"root 755 usr root 644 usr/bin/softmr root 644 lib/modules/9.9.9/updates/softmr.ko"; }

# shellcheck disable=SC2329
host_umask() { (umask 077 && tree_make nobody host); }
check "make host, as the user whose the source is" host_umask
check "make install, as root" tree_make root install DESTDIR="$DEST"
check "... builds as its owner" builds nobody nobody
check "... and the files are root's, for everybody to read" installed
check "nothing in the source is root's" nothing_of_root
wants=$DEST/etc/systemd/system/multi-user.target.wants
mkdir -p "$wants"
ln -s /nonexistent "$wants/softmr-exporter.service"
ln -s /nonexistent "$wants/softmr-link@eth0.service"
check "make uninstall" tree_make root uninstall DESTDIR="$DEST"
check "... leaves nothing but what is not softmr's" is "$(find "$DEST" ! -type d -printf '%f ')" "softmr-exporter.service "
chown -R root "$TREE/build"
check_error "a build directory of another user's is said so" "which another user has made; as root: chown -R nobody" \
	tree_make nobody host
check_error "without DESTDIR only root can install" "cannot write to /usr" tree_make nobody install
finish
