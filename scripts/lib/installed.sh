# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The files in which "make install" records its work, for itself and for "make uninstall".

DESTDIR=${DESTDIR:-}
DESTDIR=${DESTDIR%/}
# Files, a line each, then the directories that were made for them, with a / at the end
# shellcheck disable=SC2034 # install.sh and uninstall.sh use it
MANIFEST=/var/lib/softmr/manifest

# Installed packages of softmr: their files are not ours
packages_of_softmr() {
	if have dpkg-query; then
		# it fails if one of the patterns matches nothing
		{ dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'softmr*' 'libsoftmr*' 2>/dev/null || true; } |
			sed -n 's/^installed //p'
	fi
	if have rpm && [ ! -e /etc/debian_version ]; then rpm -qa 'softmr*' 'libsoftmr*'; fi
}
