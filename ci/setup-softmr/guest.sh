# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Where the kernel takes no module: tests run in a guest, by "softmr run".

# What a test's command begins with
RUN=''

# find_run: in order, the installed one and the one that was built here
find_run() {
	local built=${SOFTMR_BUILD:-$TOP/build}/run/softmr-run
	if have softmr && softmr run --help >/dev/null 2>&1 && softmr run -- true 2>/dev/null; then
		RUN="softmr run --"
	elif have softmr-run; then
		RUN="softmr-run --"
	elif [ -x "$built" ]; then
		RUN="$built --"
	else
		return 1
	fi
}

# The packages need no root: they are unpacked, and replace what was unpacked before, which may be for another libibverbs
unpack_packages() {
	local dir=$CACHE/setup new uml lib provider
	[ -n "$PACKAGES" ] && is_debian || return
	uml=$(package_file softmr-uml)
	lib=$(package_file libsoftmr1)
	[ -n "$uml" ] && [ -n "$lib" ] || return
	mkdir -p "$CACHE"
	new=$(mktemp -d "$CACHE/setup.XXXXXX")
	dpkg-deb -x "$uml" "$new"
	dpkg-deb -x "$lib" "$new"
	rm -rf "$dir"
	mv "$new" "$dir"
	[ -x "$dir/usr/lib/softmr/uml/softmr-run" ] || return
	provider=$(compgen -G "$dir/usr/lib/*/libibverbs/libsoftmr-rdmav*.so") || return
	RUN="$dir/usr/lib/softmr/uml/softmr-run --provider ${provider%/*} --"
}

build_run() {
	say "Building what \"softmr run\" needs; the first time, this takes some minutes."
	"$TOP/scripts/build.sh" run >&2 || die 1 "\"softmr run\" could not be built (see above)"
	find_run || die 1 "scripts/build.sh run left no softmr-run in $BUILD/run"
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
