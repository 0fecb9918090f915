# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Install softmr: module and provider. How they are built is the business of "make deb" and "make install".

# What a check needs
PROGRAMS=(rdma-core ibverbs-utils iproute2 kmod util-linux)
# What "make install" builds with
BUILD_PACKAGES=(gcc libc6-dev make cmake ninja-build pkgconf libibverbs-dev libnl-3-dev libnl-route-3-dev)

has_provider() {
	local plugin
	for plugin in /usr/lib/*/libibverbs/libsoftmr-rdmav*.so /usr/lib*/libibverbs/libsoftmr-rdmav*.so \
		/usr/local/lib*/libibverbs/libsoftmr-rdmav*.so /usr/local/lib/*/libibverbs/libsoftmr-rdmav*.so; do
		[ ! -e "$plugin" ] || return 0
	done
	return 1
}

# The version that is installed for the kernel is the one of this tree; one that says none is taken for it
has_this_version() {
	local version
	has_module "$KERNEL" softmr || return
	has_provider || return
	version=$(modinfo -k "$KERNEL" -F version softmr 2>/dev/null || true)
	[ -z "$version" ] || [ "$version" = "$(cat "$TOP/VERSION")" ]
}

# What packages are made from and for
cache_key() {
	local release
	# shellcheck disable=SC1091
	release=$(. /etc/os-release && echo "$ID-${VERSION_ID:-$VERSION_CODENAME}")
	echo "softmr-$release-$(uname -m)-$(hash_of "$TOP"/{kernel,userspace,debian,packaging,VERSION,scripts/package.sh,scripts/uml,scripts/lib/{run,uml,archive}.sh})"
}

# -- packages

# The mark of this release in a package's version: 1.0-1~deb13
release_mark() {
	# shellcheck disable=SC1091
	(. /etc/os-release && echo "~${ID:0:3}${VERSION_ID:-}")
}

# package_file NAME: NAME's package in $PACKAGES for this architecture and this release or, if there is none, for the
# oldest release, whose libraries others have, too; nothing if there is none
package_file() {
	local file files=() marked=()
	for file in "$PACKAGES/$1"_*_"$(dpkg --print-architecture)".deb "$PACKAGES/$1"_*_all.deb; do
		[ -e "$file" ] || continue
		files+=("$file")
		[[ $file != *"$(release_mark)"_* ]] || marked+=("$file")
	done
	[ "${#marked[@]}" = 0 ] || files=("${marked[@]}")
	[ "${#files[@]}" = 0 ] || printf '%s\n' "${files[@]}" | sort -V | head -n 1
}

# A kernel of one's own has its build directory there, and no package
install_headers() { has_headers "$KERNEL" || apt_install "linux-headers-$KERNEL"; }

# The packages that are needed, from $PACKAGES
install_packages() {
	local name file files=()
	for name in softmr-dkms libsoftmr1; do
		file=$(package_file "$name")
		[ -n "$file" ] || die 1 "$PACKAGES has no $name package for this machine; make it by: make deb"
		files+=("$file")
	done
	for name in softmr-tools softmr; do
		file=$(package_file "$name")
		[ -z "$file" ] || files+=("$file")
	done
	install_headers
	apt_install dkms
	apt_get --no-install-recommends install "${files[@]}" ||
		die 1 "apt-get could not install ${files[*]##*/} (see above)"
}

# DKMS builds for the kernel that runs when its package is installed; this is for any
dkms_build() {
	local log
	as_root dkms autoinstall -k "$KERNEL" >&2 || true
	has_module "$KERNEL" softmr && return
	as_root depmod "$KERNEL"
	has_module "$KERNEL" softmr && return
	log=$(find /var/lib/dkms/softmr -name make.log 2>/dev/null | tail -n 1 || true)
	[ -z "$log" ] || tail -n 30 "$log" >&2
	die 1 "DKMS did not build softmr for $KERNEL${log:+ (the whole log is $log)}"
}

# Without softmr-uml: here the module is installed, and softmr-uml's kernel takes minutes
make_packages() {
	local made=$BUILD/packages profile=pkg.softmr.nouml
	[ -w "$TOP" ] || [ -n "${SOFTMR_BUILD:-}" ] || die 1 "cannot write to $TOP; give SOFTMR_BUILD=DIR for what is built"
	apt_update
	apt_get --no-install-recommends build-dep -P "$profile" "$TOP/" ||
		die 1 "apt-get could not install what packages are made with (see above); try --install source"
	DEB_BUILD_PROFILES=$profile OUT=$made "$TOP/scripts/package.sh" deb >&2 ||
		die 1 "the packages could not be made (see above)"
	if [ -n "$PACKAGES" ]; then
		mkdir -p "$PACKAGES"
		cp "$made"/*.deb "$PACKAGES"
	else
		PACKAGES=$made
	fi
}

# The tools are for convenience; the module and the provider are not
has_packages() { [ -n "$PACKAGES" ] && [ -n "$(package_file softmr-dkms)" ] && [ -n "$(package_file libsoftmr1)" ]; }

# -- both ways

install_source() {
	if is_debian; then
		install_headers
		apt_install "${BUILD_PACKAGES[@]}"
	fi
	as_root env SOFTMR_BUILD="$BUILD/setup" KDIR="/lib/modules/$KERNEL/build" "$TOP/scripts/install.sh" >&2 ||
		die 1 "make install failed (see above)"
}

# choose_install: what "auto" means on this machine
choose_install() {
	[ "$INSTALL" = auto ] || return 0
	if has_packages || { is_debian && apt_offers dh-dkms; }; then INSTALL=deb; else INSTALL=source; fi
}

install_module() {
	local module
	if is_debian; then apt_install "${PROGRAMS[@]}"; fi
	for module in ib_core ib_uverbs; do
		has_module "$KERNEL" "$module" || apt_install "linux-modules-extra-$KERNEL"
	done
	if has_this_version; then
		say "softmr $(cat "$TOP/VERSION") is installed for the kernel $KERNEL."
		return
	fi
	choose_install
	say "Installing softmr $(cat "$TOP/VERSION") for the kernel $KERNEL (--install $INSTALL)."
	case $INSTALL in
	none) die 1 "softmr is not installed for the kernel $KERNEL, and --install none was given" ;;
	deb)
		is_debian || die 1 "--install deb needs Debian or Ubuntu; use --install source"
		has_packages || make_packages
		install_packages
		dkms_build
		;;
	source) install_source ;;
	esac
}
