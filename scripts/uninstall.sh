#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make uninstall: remove what "make install" has installed, and the files that softmr made while it ran; see --help.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/lib/common.sh"
# shellcheck source=scripts/lib/installed.sh
. "$TOP/scripts/lib/installed.sh"

usage() {
	cat <<-EOF
		Usage: make uninstall [DESTDIR=DIR]

		Removes all that "make install" has installed, as $MANIFEST lists it: links are deleted, units are
		stopped and disabled, the module is unloaded, and /etc/softmr goes too. Packages are not touched.
	EOF
}

# -- running parts

stop_units() {
	local units
	[ -d /run/systemd/system ] || return 0
	mapfile -t units < <(systemctl list-units --all --plain --no-legend 'softmr-link@*' 'softmr-metrics[.@]*' |
		awk '{ print $1 }')
	[ "${#units[@]}" = 0 ] || systemctl stop "${units[@]}" || true
}

# Enabled units: links to ours, in any target's .wants. Units of others may also be called softmr-something
disabled_units() {
	find "$DESTDIR/etc/systemd/system" -type l \( -name 'softmr-link@*' -o -name softmr-metrics.socket \) 2>/dev/null ||
		true
}

# Unload the module, with its links, if it has no users
unload() {
	[ -e /sys/module/softmr ] || return 0
	modprobe -r softmr 2>/dev/null ||
		say "The module is in use, so it stays loaded until its users and links are gone (modprobe -r softmr) or you reboot."
}

# -- files

# A package may own the file now, if it was installed over ours
owned_by_package() { [ -z "$DESTDIR" ] && have dpkg-query && dpkg-query -S "$1" >/dev/null 2>&1; }

remove_files() {
	local file
	grep -v '/$' "$1" | while IFS= read -r file; do
		if owned_by_package "$file"; then
			say "kept, because a package owns it now: $file"
		else
			rm -f "$DESTDIR$file"
		fi
	done
	disabled_units | while IFS= read -r file; do
		rm -f "$file"
		rmdir --ignore-fail-on-non-empty "$(dirname "$file")"
	done
	if [ -z "$(packages_of_softmr)" ] || [ -n "$DESTDIR" ]; then rm -rf "$DESTDIR/etc/softmr"; fi
	rm -rf "$DESTDIR${MANIFEST%/*}"
	# the deepest first; directories with other files are kept
	grep '/$' "$1" | LC_ALL=C sort -ru | while IFS= read -r file; do
		[ ! -d "$DESTDIR$file" ] || rmdir --ignore-fail-on-non-empty "$DESTDIR$file"
	done
}

# reload_system MANIFEST: let the running system reload its databases, which included the removed files
reload_system() {
	local release
	sed -nE 's,^(/usr)?/lib/modules/([^/]*)/.*[^/]$,\2,p' "$1" | sort -u | while IFS= read -r release; do
		[ ! -d "/lib/modules/$release/kernel" ] || depmod "$release"
	done
	! have ldconfig || ldconfig
	! [ -d /run/udev ] || ! have udevadm || udevadm control --reload || true
	! [ -d /run/systemd/system ] || systemctl daemon-reload || true
}

case ${1:-} in
'') ;;
--help | -h)
	usage
	exit 0
	;;
*) die 2 "unknown argument $1 (see --help)" ;;
esac
[ -e "$DESTDIR$MANIFEST" ] || die 1 "\"make install\" has installed nothing here: there is no $DESTDIR$MANIFEST"
[ -w "$DESTDIR$MANIFEST" ] || die 1 "cannot write to $DESTDIR$MANIFEST; run this as root"
list=$(mktemp)
at_exit tidy
tidy() { rm -f "$list"; }
cp "$DESTDIR$MANIFEST" "$list"
if [ -z "$DESTDIR" ]; then
	stop_units
	unload
fi
remove_files "$list"
[ -n "$DESTDIR" ] || reload_system "$list"
say "softmr is removed${DESTDIR:+ from $DESTDIR}: $(grep -vc '/$' "$list") files."
