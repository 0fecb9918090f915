# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What this machine is, and whether its kernel can be given a module.

# as_root COMMAND...
as_root() {
	if am_root; then "$@"; else sudo -n "$@"; fi
}

can_be_root() { am_root || { have sudo && sudo -n true 2>/dev/null; }; }

# has_module RELEASE NAME: as a file or built in
has_module() {
	grep -qsE "(^|/)$2\.ko" "/lib/modules/$1/modules.dep" "/lib/modules/$1/modules.builtin"
}

has_headers() { [ -e "/lib/modules/$1/build/Makefile" ]; }

is_debian() { [ -e /etc/debian_version ] && have apt-get; }

# -- apt

APT_UPDATED=''

# In CI nobody answers, and another apt may be at work
apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >&2
}

apt_update() {
	[ -z "$APT_UPDATED" ] || return 0
	APT_UPDATED=1
	apt_get update
}

# (grep -q would end before apt-cache does, which is a failure under pipefail)
apt_has() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep '^  Candidate: [^(]' >/dev/null; }

# apt_offers PACKAGE: after a look at the archive, if need be
apt_offers() {
	is_debian || return
	apt_has "$1" && return
	[ -z "$APT_UPDATED" ] || return
	can_be_root && apt_update && apt_has "$1"
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# apt_install PACKAGE...: those that are not there
apt_install() {
	local p missing=()
	for p in "$@"; do is_installed "$p" || missing+=("$p"); done
	[ "${#missing[@]}" != 0 ] || return 0
	apt_update
	apt_get --no-install-recommends install "${missing[@]}" ||
		die 1 "apt-get could not install ${missing[*]} (see above)"
}

# -- refusals

# Root of a container's user namespace is not the machine's
in_user_namespace() {
	local inside outside count
	read -r inside outside count </proc/self/uid_map
	[ "$inside $outside $count" != "0 0 4294967295" ]
}

# CAP_SYS_MODULE, capability 16, of which a container leaves nothing to its processes
may_load_modules() {
	local bounding
	bounding=$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)
	[ $((0x$bounding >> 16 & 1)) = 1 ]
}

secure_boot() {
	local state
	state=$(od -An -tu1 -j4 -N1 /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c 2>/dev/null)
	[ "${state// /}" = 1 ]
}

# Only signed modules are loaded: the kernel is locked down, or was told so
signature_needed() {
	local lockdown=/sys/kernel/security/lockdown
	[ "$(cat /sys/module/module/parameters/sig_enforce 2>/dev/null)" != Y ] || return 0
	if [ -r "$lockdown" ]; then
		grep -qE '\[(integrity|confidentiality)\]' "$lockdown"
	else
		secure_boot
	fi
}

# The key by which DKMS signs is one that the firmware knows
dkms_key_enrolled() {
	local key
	have mokutil || return
	for key in /var/lib/dkms/mok.pub /var/lib/shim-signed/mok/MOK.der; do
		# its status is 1 for a key that is enrolled
		[ ! -e "$key" ] || ! LC_ALL=C mokutil --test-key "$key" 2>/dev/null | grep 'already enrolled' >/dev/null || return 0
	done
	return 1
}

# Why a kernel cannot be given a module, a line each with what to do
REFUSALS=''

refuse() { REFUSALS+="  - $*"$'\n'; }

# refusals RELEASE: what there is against a module for that kernel; nothing if it can be given one
refusals() {
	can_be_root ||
		refuse "this user is not root, and has no sudo that asks for no password"
	# what follows is about the kernel that runs; with --install-only a runner's image may be being made
	if [ -z "$INSTALL_ONLY" ]; then refusals_of_running; fi
	refusals_of_files "$1"
}

refusals_of_running() {
	[ -e /proc/modules ] || {
		refuse "it was built without modules (CONFIG_MODULES)"
		return
	}
	[ "$(cat /proc/sys/kernel/modules_disabled 2>/dev/null)" != 1 ] ||
		refuse "the loading of modules was switched off (kernel.modules_disabled); it takes a reboot to switch it on"
	if in_user_namespace; then
		refuse "this is a container with a user namespace of its own; set the link up on the machine outside"
	elif ! may_load_modules; then
		refuse "this container may not load modules (CAP_SYS_MODULE); set the link up on the machine outside"
	fi
	[ ! -e /sys/module/softmr ] || return 0
	! signature_needed || dkms_key_enrolled ||
		refuse "it takes only signed modules (Secure Boot or lockdown), and DKMS has no key that is enrolled;" \
			"switch Secure Boot off, or enroll the key: sudo mokutil --import /var/lib/dkms/mok.pub, then reboot"
}

refusals_of_files() {
	local release=$1 module
	if [ ! -d "/lib/modules/$release" ]; then
		refuse "its modules are not here (/lib/modules/$release), as in a container; set the link up on the machine outside"
		return
	fi
	for module in ib_core ib_uverbs; do
		has_module "$release" "$module" || apt_offers "linux-modules-extra-$release" ||
			refuse "it has no $module (CONFIG_INFINIBAND, CONFIG_INFINIBAND_USER_ACCESS); boot another kernel"
	done
	has_module "$release" softmr || has_headers "$release" || apt_offers "linux-headers-$release" ||
		refuse "its headers are neither here nor in the package archive (linux-headers-$release)"
}
