#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make dist, make deb, make rpm: a tarball of the source, and packages of it for this distribution. make tar: "softmr
# run" for any distribution.
#
#   $OUT/softmr-VERSION.tar.xz     the tarball: all files that git tracks or, without git, all except build results
#   $OUT/*.deb, *.dsc, ...         source and binary packages
#   $OUT/*.rpm                     the same
#   $OUT/softmr-run-*.tar.xz       the runtime of "softmr run" (archive.sh)
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

VERSION=$(cat "$TOP/VERSION")
OUT=${OUT:-$BUILD/packages}
WORK=$BUILD/package
NAME=softmr-$VERSION

usage() {
	cat <<-EOF
		Usage: scripts/package.sh dist|dkms|deb|rpm|tar

		Makes packages in $OUT (OUT=DIR: there).
		  dist   softmr-$VERSION.tar.xz
		  dkms   softmr-$VERSION-dkms.tar.gz, the module's source: dkms ldtarball takes it
		  deb    Debian's: source package, softmr, softmr-dkms, softmr-tools, libsoftmr1, libsoftmr-dev, softmr-uml
		  rpm    the same as RPMs, by rpmbuild
		  tar    softmr-run-$VERSION-x86_64.tar.xz: "softmr run", to be unpacked anywhere on any Linux
		SOFTMR_LINUX_SOURCE=FILE names what the kernel in softmr-uml is made of: a linux-source-*.deb, or the
		/usr/src/linux-source-*.tar.xz of one that is installed. Default: the newest that is installed, or if that is
		too old, the newest of the archive. DEB_BUILD_PROFILES=pkg.softmr.nouml leaves softmr-uml out.
	EOF
}

# -- dist

# The files of the source, without build results
source_files() {
	if git -C "$TOP" rev-parse --git-dir >/dev/null 2>&1 && [ -e "$TOP/.git" ]; then
		git -C "$TOP" ls-files --cached --others --exclude-standard
	else
		(cd "$TOP" && find . -path ./build -prune -o -type f -print -o -type l -print | sed 's:^\./::')
	fi | LC_ALL=C sort | while IFS= read -r f; do
		# git also names files that were deleted and not yet committed
		[ ! -e "$TOP/$f" ] && [ ! -L "$TOP/$f" ] || printf '%s\n' "$f"
	done
}

# The same source gives the same tarball: the time is that of the last commit, or of the changelog
source_time() {
	echo "${SOURCE_DATE_EPOCH:-$(git -C "$TOP" log -1 --format=%ct 2>/dev/null ||
		date -d "$(sed -n 's/^ -- .*>  //p' "$TOP/debian/changelog" | head -n 1)" +%s)}"
}

# pack DIR FILE OPTION...: DIR, under its own name, as FILE
pack() {
	tar -C "$(dirname "$1")" --sort=name --mtime="@$(source_time)" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		"${@:3}" --auto-compress -cf "$2" "$(basename "$1")"
}

# unpacked_source DIR: a copy of the source, and nothing else
unpacked_source() {
	rm -rf "$1"
	mkdir -p "$1"
	source_files | tar -C "$TOP" -cf - -T - | tar -C "$1" -xf -
}

make_dist() {
	unpacked_source "$WORK/dist/$NAME"
	pack "$WORK/dist/$NAME" "$OUT/$NAME.tar.xz"
	say "made $OUT/$NAME.tar.xz"
}

# -- dkms

make_dkms() {
	local dir=$WORK/dkms/dkms_source_tree
	unpacked_source "$WORK/dkms/all"
	rm -rf "$dir"
	mv "$WORK/dkms/all/kernel" "$dir"
	cp "$WORK/dkms/all/VERSION" "$dir"
	sed "s/#MODULE_VERSION#/$VERSION/" "$TOP/packaging/dkms.conf.in" >"$dir/dkms.conf"
	pack "$dir" "$OUT/$NAME-dkms.tar.gz"
	say "made $OUT/$NAME-dkms.tar.gz"
}

# -- deb

# os_release: "deb13 trixie", "ubu24.04 noble"; nothing for an unreleased distribution, which has no number
os_release() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	bash -c '. /etc/os-release; [ -z "${VERSION_ID:-}" ] || echo "${ID:0:3}$VERSION_ID ${VERSION_CODENAME:-unstable}"'
}

# One upstream version is built for several releases of Debian. Each has its own packages, which sort before those of
# the next release: 1.0.0-1~deb12 < 1.0.0-1~deb13 < 1.0.0-1; the last one is for the unreleased Debian.
debian_changelog() {
	local changelog=$1 version suffix codename
	version=$(sed -nE '1s/^softmr \(([^)]+)\).*/\1/p' "$changelog")
	[ "${version%-*}" = "$VERSION" ] ||
		die 1 "debian/changelog begins with softmr $version, but VERSION says $VERSION;" \
			"add an entry for it (dch -v $VERSION-1)"
	read -r suffix codename < <(os_release) || return 0
	sed -i "1s/^softmr ([^)]*) [a-z]*;/softmr ($version~$suffix) $codename;/" "$changelog"
}

# debian_home DIR: fill in the project's addresses
debian_home() {
	local home
	home=$(project_home)
	sed -i "s|@MAIL@|$(project_mail)|" "$1/control" "$1/changelog"
	sed -i "s|^Standards-Version: .*|&\nHomepage: $home\nVcs-Git: $home.git\nVcs-Browser: $home|" "$1/control"
}

deb_needs() {
	have dpkg-buildpackage || die 1 "this machine lacks dpkg-buildpackage; as root: apt-get install dpkg-dev"
	(cd "$1" && dpkg-checkbuilddeps) ||
		die 1 "packages to build with are missing (see above);" \
			"as root: apt-get build-dep${DEB_BUILD_PROFILES:+ -P ${DEB_BUILD_PROFILES// /,}} $TOP"
}

# Choose the source of the kernel in softmr-uml. Without a suitable source, only the other packages are built
deb_kernel() {
	[[ " ${DEB_BUILD_PROFILES:-} " != *" pkg.softmr.nouml "* && $(dpkg --print-architecture) = amd64 ]] || return 0
	if uml_package_source "$WORK/linux-source"; then
		SOFTMR_LINUX_SOURCE=$(realpath "$UML_FILE")
		export SOFTMR_LINUX_SOURCE
		say "The kernel in softmr-uml is made of $(uml_file_package "$SOFTMR_LINUX_SOURCE")."
	else
		export DEB_BUILD_PROFILES="${DEB_BUILD_PROFILES:-} pkg.softmr.nouml"
		warn "softmr-uml is left out: its kernel needs a Linux source whose User-Mode Linux has a seccomp mode, and there" \
			"is none in ${SOFTMR_LINUX_SOURCE:-the newest linux-source that is installed, nor in that of the archive};" \
			"install a newer linux-source package, or name one: SOFTMR_LINUX_SOURCE=FILE"
	fi
}

make_deb() {
	local dir=$WORK/deb/$NAME
	rm -rf "$WORK/deb"
	unpacked_source "$dir"
	deb_needs "$dir"
	deb_kernel
	debian_changelog "$dir/debian/changelog"
	debian_home "$dir/debian"
	# in format 3.0 (quilt) debian/ is a separate tarball
	pack "$dir" "$WORK/deb/softmr_$VERSION.orig.tar.xz" --exclude="$NAME/debian"
	(cd "$dir" && SOURCE_DATE_EPOCH=$(source_time) dpkg-buildpackage -us -uc)
	rm -f "$OUT"/*softmr*.deb "$OUT"/softmr_*
	find "$WORK/deb" -maxdepth 1 -type f -exec mv {} "$OUT" \;
	say "made in $OUT: $(cd "$OUT" && echo *.deb)"
	say "install them as root: apt-get install $OUT/softmr_*.deb $OUT/softmr-{dkms,tools}_*.deb $OUT/libsoftmr1_*.deb"
}

# -- rpm

rpm_needs() {
	local need missing=()
	for need in rpmbuild cmake ninja python3 cc; do have "$need" || missing+=("$need"); done
	[ "${#missing[@]}" = 0 ] || die 1 "this machine lacks: ${missing[*]}"
}

make_rpm() {
	local dir=$WORK/rpm/$NAME top=$WORK/rpm/top options=()
	rpm_needs
	rm -rf "$WORK/rpm"
	unpacked_source "$dir"
	mkdir -p "$top/SOURCES" "$top/SPECS"
	sed -e "s/@VERSION@/$VERSION/g" -e "s|@HOME@|$(project_home)|g" -e "s|@MAIL@|$(project_mail)|g" \
		-e "s/@DATE@/$(LC_ALL=C date -ud "@$(source_time)" '+%a %b %d %Y')/g" "$TOP/packaging/softmr.spec.in" >"$top/SPECS/softmr.spec"
	pack "$dir" "$top/SOURCES/$NAME.tar.xz"
	# Debian's rpmbuild has no database of installed RPMs, so the BuildRequires are checked above
	[ ! -e /etc/debian_version ] || options+=(--nodeps)
	# the same result on any machine, at any time
	options+=(--define "_buildhost softmr" --define "use_source_date_epoch_as_buildtime 1"
		--define "clamp_mtime_to_source_date_epoch 1" --define "build_mtime_policy clamp_to_source_date_epoch")
	SOURCE_DATE_EPOCH=$(source_time) rpmbuild -ba --define "_topdir $top" "${options[@]}" "$top/SPECS/softmr.spec"
	rm -f "$OUT"/*.rpm
	find "$top/RPMS" "$top/SRPMS" -name '*.rpm' -exec mv {} "$OUT" \;
	cp "$top/SPECS/softmr.spec" "$OUT"
	! have rpmlint || rpmlint -c "$TOP/packaging/rpmlint.toml" "$OUT"/*.rpm
	say "made in $OUT: $(cd "$OUT" && echo *.rpm)"
}

# -- tar

make_tar() {
	local name=softmr-run-$VERSION fetched=$WORK/tar/fetched file
	file=$OUT/$name-x86_64.tar.xz
	build_run
	rm -rf "$WORK/tar"
	mkdir -p "$fetched"
	step "a libibverbs of Debian's $ARCHIVE_SUITE" archive_fetch "$fetched"
	archive_fill "$WORK/tar/$name" "$fetched"
	pack "$WORK/tar/$name" "$file"
	archive_check "$file"
}

at_exit end_jobs
case ${1:-} in
dist | dkms | deb | rpm | tar)
	mkdir -p "$OUT"
	OUT=$(realpath "$OUT")
	"make_$1"
	;;
--help | -h) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
