# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Debian's archive, through a separate apt state, so that the host's suites do not matter.

APT_DIR=$CACHE/apt
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The archive that the host itself uses, if the host is Debian: it may be a mirror.
debian_mirror() {
	local uri
	# shellcheck disable=SC2016 # apt's variables, not the shell's
	uri=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' 2>/dev/null |
		awk '$2 == "Debian" && $3 == "Debian" { print $1; exit }')
	# indextargets is empty until the first "apt-get update"
	uri=${uri:-http://deb.debian.org/debian}
	echo "${uri%/}"
}

# Use the host's settings for its archive (proxies, clock tolerance) for ours, too.
apt_host_options() {
	apt-config dump 2>/dev/null |
		grep -E '^Acquire::(Check-Valid-Until|Check-Date|Retries|https?::Proxy) ' || true
}

# suite_there MIRROR SUITE: the archive has it. Debian moves old suites elsewhere after some years.
suite_there() {
	/usr/lib/apt/apt-helper -c "$APT_DIR/apt.conf" download-file "$1/dists/$2/InRelease" "$APT_DIR/InRelease" \
		>/dev/null 2>&1
}

# apt_lines TYPE SUITE...: the lines of a sources.list for those suites that the archive has; TYPE is deb or deb-src
apt_lines() {
	local type=$1 mirror suite
	shift
	mirror=$(debian_mirror)
	for suite in "$@"; do
		if suite_there "$mirror" "$suite"; then
			echo "$type [signed-by=$KEYRING] $mirror $suite main"
		else
			say "  NOTE  $mirror has no $suite"
		fi
	done
}

# The suites of our beds. Debian 13 is required; a role whose suite is missing gets another kernel.
bed_lines() {
	local mirror
	mirror=$(debian_mirror)
	suite_there "$mirror" trixie || die 1 "cannot read $mirror/dists/trixie, the Debian 13 that the guests are made of. Check the network." \
		"The archive is the first one of Debian's in this machine's package sources (apt-get update), or deb.debian.org;" \
		"if Debian 13 has left the mirrors, add http://archive.debian.org/debian to the package sources"
	# shellcheck disable=SC2046 # words are meant
	apt_lines deb $(role_suites)
	apt_lines deb-src trixie
}

# apt_own TOOL ARGS...: run apt-get, apt-cache or apt-config on our state
apt_own() {
	local tool=$1
	shift
	APT_CONFIG=$APT_DIR/apt.conf "$tool" "$@"
}

# apt_lists COMMAND...: make the apt state in APT_DIR, and fetch the package lists of the sources.list that COMMAND prints.
# In apt.conf's form, APT_ARCHITECTURES lists the architectures, if not only amd64, and APT_OPTIONS has more options
apt_lists() {
	mkdir -p "$APT_DIR/lists/partial" "$APT_DIR/archives/partial"
	cat >"$APT_DIR/apt.conf" <<-EOF
		Dir::Etc::SourceList "$APT_DIR/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Parts "/dev/null";
		Dir::State::Lists "$APT_DIR/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$APT_DIR";
		APT::Architecture "amd64";
		APT::Architectures { ${APT_ARCHITECTURES:-"amd64";} };
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::Retries "3";
		$(apt_host_options)
		${APT_OPTIONS:-}
	EOF
	"$@" >"$APT_DIR/sources.list"
	apt_own apt-get -q update
}

apt_refresh() {
	apt_lists bed_lines
	archive_kernels >"$APT_DIR/kernels.new"
	[ -s "$APT_DIR/kernels.new" ] || die 1 "the package lists name no kernel; is $(debian_mirror) a Debian archive?"
	mv "$APT_DIR/kernels.new" "$APT_DIR/kernels"
}

# apt_source PACKAGE DIR: fetch and unpack a source package, Debian's patches applied. The .dsc is
# not needed: apt's signed index has the hash of each file.
apt_source() {
	local package=$1 dir=$2 uri file hash patch
	mkdir -p "$dir" "$APT_DIR/src"
	while read -r uri file _ hash; do
		uri=${uri//\'/}
		case $file in
		*.orig.tar.*) ;;
		*.debian.tar.*) ;;
		*) continue ;;
		esac
		/usr/lib/apt/apt-helper -c "$APT_DIR/apt.conf" download-file "$uri" "$APT_DIR/src/$file" "$hash"
		case $file in
		*.orig.tar.*) tar -C "$dir" --strip-components=1 --no-same-owner -xf "$APT_DIR/src/$file" ;;
		*) tar -C "$dir" --no-same-owner -xf "$APT_DIR/src/$file" ;;
		esac
	done < <(apt_own apt-get source --print-uris --download-only "$package" | grep "^'" | LC_ALL=C sort -r)
	while IFS= read -r patch; do
		case $patch in '' | '#'*) continue ;; esac
		patch -d "$dir" -p1 --forward <"$dir/debian/patches/$patch"
	done < <(cat "$dir/debian/patches/series" 2>/dev/null)
}
