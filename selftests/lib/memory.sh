# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What tests of memory need of the machine and of the device.

HUGE_PAGES=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages

# huge_pages N: reserve at least N huge pages of 2 MiB until the test ends. Fails if the kernel has no huge pages
huge_pages() {
	local was
	[ -w "$HUGE_PAGES" ] || { echo "this kernel has no huge pages of 2 MiB"; return 1; }
	was=$(<"$HUGE_PAGES")
	[ "$was" -lt "$1" ] || return 0
	on_exit restore_huge_pages "$was"
	# at first there may be no free 2 MiB in a row
	within 5 more_huge_pages "$1" || { echo "there are $(<"$HUGE_PAGES") huge pages, not $1"; return 1; }
}

more_huge_pages() {
	echo 1 >/proc/sys/vm/compact_memory
	echo "$1" >"$HUGE_PAGES"
	[ "$(<"$HUGE_PAGES")" -ge "$1" ]
}

restore_huge_pages() { echo "$1" >"$HUGE_PAGES"; }

# has_odp DEVICE [implicit]: the device reports on-demand paging
has_odp() {
	local caps
	caps=$(ibv_devinfo -v -d "$1" | sed -n '/general_odp_caps:/,/rc_odp_caps:/p')
	case $caps in
	*ODP_SUPPORT_IMPLICIT*) return 0 ;;
	*ODP_SUPPORT*) [ "${2-}" != implicit ] ;;
	*) return 1 ;;
	esac
}
