# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The host's requirements. Each is "what:package": a command, or a file if it begins with a slash, and its Debian
# package.

HOST_BASE=(make:make mmdebstrap:mmdebstrap apt-get:apt /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
	unshare:util-linux setpriv:util-linux tar:tar xz:xz-utils patch:patch)
HOST_USER=(newuidmap:uidmap)
HOST_UML=(gcc:gcc /usr/include/stdlib.h:libc6-dev flex:flex bison:bison bc:bc perl:perl depmod:kmod
	/usr/include/gelf.h:libelf-dev)
# The runtime of softmr run is built without a guest image, on any distribution
HOST_RUN=(make:make tar:tar xz:xz-utils patch:patch cmake:cmake find:findutils libc.a:libc6-dev
	/usr/include/infiniband/verbs.h:libibverbs-dev "${HOST_UML[@]}")
# If the source of Linux is from Debian's archive
HOST_ARCHIVE=(apt-get:apt /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring)

# -- the host's distribution

# The names of Debian's packages elsewhere, if they differ
HOST_NAMES='
libc6-dev       dnf glibc-static  zypper glibc-devel-static  pacman glibc  apk musl-dev  nix glibc.static
libelf-dev      dnf elfutils-libelf-devel  zypper libelf-devel  pacman libelf  apk elfutils-dev  nix elfutils
libnl-3-dev     dnf libnl3-devel  zypper libnl3-devel  pacman libnl  apk libnl3-dev  nix libnl
libnl-genl-3-dev  dnf libnl3-devel  zypper libnl3-devel  pacman libnl  apk libnl3-dev  nix libnl
libjson-c-dev   dnf json-c-devel  zypper libjson-c-devel  pacman json-c  apk json-c-dev  nix json_c
libncurses-dev  dnf ncurses-devel  zypper ncurses-devel  pacman ncurses  apk ncurses-dev  nix ncurses
libibverbs-dev  dnf rdma-core-devel  zypper rdma-core-devel  pacman rdma-core  apk rdma-core-dev  nix rdma-core
xz-utils        dnf xz  zypper xz  pacman xz  apk xz  nix xz
make            nix gnumake
tar             nix gnutar
patch           nix gnupatch
perl            dnf perl-interpreter
uidmap          dnf shadow-utils  zypper shadow  pacman shadow  apk shadow-subids  nix shadow
debian-archive-keyring  dnf debian-keyring
'

# host_family: which of apt, dnf, zypper, pacman, apk and nix this system has; nothing if it has none of them
host_family() {
	local id
	# shellcheck source=/dev/null
	for id in $(. "${OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}"); do
		case $id in
		debian | ubuntu) echo apt ;;
		fedora | rhel | centos) echo dnf ;;
		suse | opensuse | opensuse-*) echo zypper ;;
		arch) echo pacman ;;
		alpine) echo apk ;;
		nixos) echo nix ;;
		*) continue ;;
		esac
		return
	done
}

# host_packages FAMILY PACKAGE...: the names of Debian's packages in that family
host_packages() {
	awk -v family="$1" -v wanted="${*:2}" '
		{ for (i = 2; i < NF; i += 2) if ($i == family) name[$1] = $(i + 1) }
		END {
			n = split(wanted, word, " ")
			for (i = 1; i <= n; i++) {
				package = word[i] in name ? name[word[i]] : word[i]
				if (!seen[package]++) printf("%s%s", i > 1 ? " " : "", package)
			}
			print ""
		}' <<<"$HOST_NAMES"
}

# host_command PACKAGE...: the command that installs them
host_command() {
	local family names
	family=$(host_family)
	names=$(host_packages "$family" "$@")
	case $family in
	apt) echo "as root: apt-get install $names" ;;
	dnf) echo "as root: dnf install $names" ;;
	zypper) echo "as root: zypper install $names" ;;
	pacman) echo "as root: pacman -S --needed $names" ;;
	apk) echo "as root: apk add $names" ;;
	nix) echo "nix-shell -p $names" ;;
	*) echo "install, under the names that this system has for what Debian calls $names" ;;
	esac
}

# -- missing requirements

# libc.a: a static C library
has_static_libc() { [ "$(cc -print-file-name=libc.a 2>/dev/null)" != libc.a ] && have cc; }

# A header: at its path, or where the compiler finds it (NixOS)
has_header() { [ -e "$1" ] || echo "#include <${1#/usr/include/}>" | cc -E - >/dev/null 2>&1; }

# host_missing NEED...: the packages that are missing
host_missing() {
	local need what
	for need in "$@"; do
		what=${need%%:*}
		case $what in
		/usr/include/*) has_header "$what" ;;
		/*) [ -e "$what" ] ;;
		libc.a) has_static_libc ;;
		*) have "$what" ;;
		esac || echo "${need#*:}"
	done | sort -u | tr '\n' ' '
}

host_needs() {
	local bed
	if [ "$*" = run ]; then
		printf '%s\n' "${HOST_RUN[@]}"
		[ -n "${SOFTMR_LINUX_SOURCE:-}" ] || [ "$(host_family)" != apt ] || printf '%s\n' "${HOST_ARCHIVE[@]}"
		return
	fi
	printf '%s\n' "${HOST_BASE[@]}"
	am_root || printf '%s\n' "${HOST_USER[@]}"
	for bed in "$@"; do
		# nothing for qemu: QEMU is in the guest image
		[ "$bed" != uml ] || printf '%s\n' "${HOST_UML[@]}"
	done
}

host_install() {
	apt-get -q update
	# another process may be installing packages, for instance on a machine that has just booted
	DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "$@"
}

# host_provide NEED...: make sure that the host has them; root on Debian installs what is missing
host_provide() {
	local missing
	missing=$(host_missing "$@")
	[ -n "$missing" ] || return 0
	if am_root && [ -e /etc/debian_version ] && have apt-get; then
		# shellcheck disable=SC2086 # words are meant
		with_lock host step "host packages: $missing" host_install $missing && return
	fi
	# shellcheck disable=SC2086
	warn "this machine lacks: $(host_packages "$(host_family)" $missing)"
	# shellcheck disable=SC2086
	warn "$(host_command $missing)"
	return 1
}

# shellcheck disable=SC2120 # a caller may need no bed
# host_require [BED...]: make sure that the host can run these beds; "run" is building the runtime of softmr run
host_require() {
	local needs
	mapfile -t needs < <(host_needs "$@")
	host_provide "${needs[@]}"
}
