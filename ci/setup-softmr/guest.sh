# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Where the kernel takes no module: tests run in a guest, by "softmr run".

# What a test's command begins with: words, as $SOFTMR_RUN is
RUN=''

# use_run PATH: the softmr-run there begins a test's command
use_run() {
	[[ $1 != *[[:space:]]* ]] || die 1 "\"$1\" has a blank, at which a shell divides what \$SOFTMR_RUN has;" \
		"give a directory without: SOFTMR_BUILD=DIR for what is built, XDG_CACHE_HOME=DIR for what is unpacked"
	RUN="$1 --"
}

# find_run: in order, the installed one and the one that was built here
find_run() {
	local built=${SOFTMR_BUILD:-$TOP/build}/run/softmr-run
	if have softmr && softmr run --help >/dev/null 2>&1 && softmr run -- true 2>/dev/null; then
		RUN="softmr run --"
	elif have softmr-run; then
		RUN="softmr-run --"
	elif [ -x "$built" ]; then
		use_run "$built"
	else
		return 1
	fi
}

# unpack_archive DIR: softmr-run-*.tar.xz of a release or of "make tar"
unpack_archive() {
	local file
	file=$(find "$PACKAGES" -maxdepth 1 -name "softmr-run-*-$(uname -m).tar.xz" | sort -V | tail -n 1)
	[ -n "$file" ] || return
	if ! have xz && is_debian && can_be_root; then apt_install xz-utils; fi
	mkdir -p "$1/usr/lib/softmr/uml"
	tar -C "$1/usr/lib/softmr/uml" --strip-components=1 -xf "$file"
}

# unpack_package DIR: the package softmr-uml
unpack_package() {
	local file
	is_debian || return
	file=$(package_file softmr-uml)
	[ -n "$file" ] || return
	dpkg-deb -x "$file" "$1"
}

# Neither needs root: it is unpacked, and replaces what was unpacked before
unpack_packages() {
	local dir=$CACHE/setup new
	[ -d "$PACKAGES" ] || return
	mkdir -p "$CACHE"
	new=$(mktemp -d "$CACHE/setup.XXXXXX")
	if ! unpack_archive "$new" && ! unpack_package "$new"; then
		rm -rf "$new"
		return 1
	fi
	rm -rf "$dir"
	mv "$new" "$dir"
	[ -x "$dir/usr/lib/softmr/uml/softmr-run" ] || return
	use_run "$dir/usr/lib/softmr/uml/softmr-run"
}

# What is built is left in $PACKAGES, if that is named, so that it can be cached
build_run() {
	say "Building what \"softmr run\" needs; the first time, this takes some minutes."
	if [ -n "$PACKAGES" ]; then
		{ OUT=$PACKAGES "$TOP/scripts/package.sh" tar >&2 && unpack_packages; } ||
			die 1 "\"softmr run\" could not be built (see above)"
	else
		"$TOP/scripts/build.sh" run >&2 || die 1 "\"softmr run\" could not be built (see above)"
		find_run || die 1 "scripts/build.sh run left no softmr-run in $BUILD/run"
	fi
}

install_run() {
	if ! find_run; then
		[ "$INSTALL" != none ] ||
			die 1 "there is no \"softmr run\", and --install none was given; install the package softmr-uml"
		unpack_packages || build_run
	fi
	has_pingpong_programs
}

# The guest's programs are this machine's
has_pingpong_programs() {
	if [ -z "$CHECK" ] || have ibv_rc_pingpong; then return; fi
	if is_debian && can_be_root; then
		apt_install ibverbs-utils
	else
		die 1 "ibv_rc_pingpong is not installed; install ibverbs-utils, or give --no-check"
	fi
}

# in_guest COMMAND...
in_guest() {
	# shellcheck disable=SC2086 # RUN is words
	$RUN "$@"
}

# Ask the guest what a test finds in it
probe_guest() {
	local line
	# shellcheck disable=SC2016 # expanded in the guest
	line=$(in_guest bash -euo pipefail -c '
		. "$1/scripts/lib/common.sh"; . "$1/ci/setup-softmr/machine.sh"; . "$1/ci/setup-softmr/link.sh"
		device=$SOFTMR_DEVICE
		netdev=$(cat "/sys/class/infiniband/$device/ports/1/gid_attrs/ndevs/0")
		address=$(netdev_address "$netdev")
		await_link "$device" "$address"
		echo "$device $netdev $address ${GID_INDEXES[0]}"' setup-softmr "$TOP" | tail -n 1) ||
		die 1 "the guest of \"$RUN\" has no softmr link, or did not start (see above)"
	read -r "DEVICES[0]" "NETDEVS[0]" "ADDRESSES[0]" "GID_INDEXES[0]" <<<"$line"
	say "In the guest ${DEVICES[0]} is on ${NETDEVS[0]}: address ${ADDRESSES[0]}, GID index ${GID_INDEXES[0]}."
}

check_guest() {
	local out
	# shellcheck disable=SC2016 # expanded in the guest
	out=$(in_guest bash -euo pipefail -c '
		. "$1/scripts/lib/common.sh"; . "$1/ci/setup-softmr/link.sh"; pingpong "$2" "$3"' \
		setup-softmr "$TOP" "${DEVICES[0]}" "${GID_INDEXES[0]}" 2>&1) ||
		die 1 "ibv_rc_pingpong fails in the guest:"$'\n'"$out"
	say "ibv_rc_pingpong in the guest: $(tail -n 1 <<<"$out")"
}
