# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the host must have. Each need is "what:package": a command, or a file if it begins with a slash.

HOST_BASE=(make:make mmdebstrap:mmdebstrap apt-get:apt /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
	unshare:util-linux setpriv:util-linux tar:tar xz:xz-utils patch:patch)
HOST_USER=(newuidmap:uidmap)
HOST_UML=(gcc:gcc /usr/include/stdlib.h:libc6-dev flex:flex bison:bison bc:bc perl:perl depmod:kmod
	/usr/include/gelf.h:libelf-dev)

# host_missing NEED...: the packages that are missing
host_missing() {
	local need what
	for need in "$@"; do
		what=${need%%:*}
		case $what in
		/*) [ -e "$what" ] ;;
		*) have "$what" ;;
		esac || echo "${need#*:}"
	done | sort -u | tr '\n' ' '
}

host_needs() {
	local bed
	printf '%s\n' "${HOST_BASE[@]}"
	am_root || printf '%s\n' "${HOST_USER[@]}"
	for bed in "$@"; do
		# nothing for qemu: QEMU is in the guest image
		[ "$bed" != uml ] || printf '%s\n' "${HOST_UML[@]}"
	done
}

host_install() {
	apt-get -q update
	# another one may be installing: a machine that has just booted, for instance
	DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "$@"
}

# shellcheck disable=SC2120 # a caller may need no bed
# host_require [BED...]: make sure that the host can run these beds; root on Debian installs what is missing
host_require() {
	local missing needs
	mapfile -t needs < <(host_needs "$@")
	missing=$(host_missing "${needs[@]}")
	[ -n "$missing" ] || return 0
	if am_root && [ -e /etc/debian_version ] && have apt-get; then
		# shellcheck disable=SC2086 # words are meant
		with_lock host step "host packages: $missing" host_install $missing && return
	fi
	warn "this machine lacks: $missing"
	warn "install them as root: apt-get install $missing"
	return 1
}
