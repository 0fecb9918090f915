# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Debian's archive, seen through an apt state of our own, so that the host's suites do not matter.

APT_DIR=$CACHE/apt
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The archive that the host itself uses, when the host is Debian: it may be a mirror.
debian_mirror() {
	local uri
	# shellcheck disable=SC2016 # apt's variables, not the shell's
	uri=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' 2>/dev/null |
		awk '$2 == "Debian" && $3 == "Debian" { print $1; exit }')
	# indextargets is empty until the first "apt-get update"
	echo "${uri:-http://deb.debian.org/debian}"
}

# How the host reaches its archive (proxies, how far clocks are trusted) holds for ours too.
apt_host_options() {
	apt-config dump 2>/dev/null |
		grep -E '^Acquire::(Check-Valid-Until|Check-Date|Retries|https?::Proxy) ' || true
}

sources_list() {
	local mirror suite signed="[signed-by=$KEYRING]"
	mirror=$(debian_mirror)
	for suite in trixie trixie-updates trixie-backports; do
		echo "deb $signed $mirror $suite main"
	done
	echo "deb-src $signed $mirror trixie main"
}

# apt_own TOOL ARGS...: apt-get, apt-cache or apt-config on our state
apt_own() {
	local tool=$1
	shift
	APT_CONFIG=$APT_DIR/apt.conf "$tool" "$@"
}

apt_refresh() {
	mkdir -p "$APT_DIR/lists/partial" "$APT_DIR/archives/partial"
	sources_list >"$APT_DIR/sources.list"
	cat >"$APT_DIR/apt.conf" <<-EOF
		Dir::Etc::SourceList "$APT_DIR/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Parts "/dev/null";
		Dir::State::Lists "$APT_DIR/lists";
		Dir::State::status "/dev/null";
		Dir::Cache "$APT_DIR";
		APT::Architecture "amd64";
		APT::Architectures "amd64";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::Retries "3";
		$(apt_host_options)
	EOF
	apt_own apt-get -q update
}

# newest_package REGEX: the name of the newest package that matches it whole
newest_package() {
	local name
	name=$(apt_own apt-cache pkgnames | grep -xE "$1" | sort -V | tail -n 1)
	[ -n "$name" ] || die 125 "the Debian archive has no package that matches $1"
	echo "$name"
}

# The kernels we run on: the newest image package of each series. The metapackages may have moved on.
kernel_package() {
	newest_package "linux-image-${1//./\\.}\\.[0-9]+\\+deb13-amd64"
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
