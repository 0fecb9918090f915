# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# softmr in rdma-core's source: providers/softmr, its header and driver id in kernel-headers/, and the lists of files of
# the packages of Debian, Red Hat and SUSE.

PROVIDER=providers/softmr
CORE_IDS=kernel-headers/rdma/ib_user_ioctl_verbs.h
CORE_ABI=kernel-headers/rdma/softmr-abi.h
CORE_WHY=kernel-headers/rdma/softmr-why.h

core_check() {
	must_have "an rdma-core source" CMakeLists.txt MAINTAINERS buildlib/rdma_functions.cmake libibverbs/driver.h \
		libibverbs/verbs.h providers/siw "$CORE_IDS" kernel-headers/CMakeLists.txt debian/control \
		redhat/rdma-core.spec suse/rdma-core.spec
	grep -q 'create_comp_cntr)' "$TREE/libibverbs/driver.h" ||
		die 2 "$TREE is rdma-core $(core_version): the provider is written for 65 and newer"
	must_not_have 'RDMA_DRIVER_SOFTMR|providers/softmr' "$PROVIDER" "$CORE_IDS" "$CORE_ABI" CMakeLists.txt
	[ -z "$KERNEL_SOURCE" ] || grep -qs RDMA_DRIVER_SOFTMR "$KERNEL_SOURCE/$KERNEL_IDS" ||
		die 2 "$KERNEL_SOURCE has no softmr; run scripts/export kernel $KERNEL_SOURCE first"
}

core_version() { sed -nE 's,^set\(PACKAGE_VERSION "([0-9.]+)"\).*,\1,p' "$TREE/CMakeLists.txt"; }

# -- the provider

# The version of the library's interface: the last one of the map
map_version() { sed -nE 's,^SOFTMR_([0-9.]+) \{.*,\1,p' "$TOP/userspace/provider/libsoftmr.map" | tail -n 1; }

provider_cmake() {
	local version
	version=$(map_version)
	# shellcheck disable=SC2016 # cmake's variables
	printf 'rdma_shared_provider(softmr libsoftmr.map\n\t%s %s.${PACKAGE_VERSION}\n' "${version%%.*}" "$version"
	(cd "$STAGE/$PROVIDER" && printf '\t%s\n' *.c)
	# shellcheck disable=SC2016
	printf '%s\n' ')' '' 'publish_headers(infiniband' $'\tsoftmrdv.h' ')' '' \
		'rdma_pkg_config("softmr" "libibverbs" "${CMAKE_THREAD_LIBS_INIT}")'
}

# provider_page PAGE: it as Markdown, with rdma-core's head
provider_page() {
	sed -nE 's/^\.TH (\S+) (\S+) (\S+) (\S+) "(.*)"$/---\nlayout: page\ntitle: \1\nsection: \2\ntagline: Verbs\ndate: \3\nheader: "\5"\nfooter: \4\n---\n/p' "$1" |
		grep . || return
	echo
	pandoc -f man -t markdown-smart --wrap=preserve "$1"
}

# The manual pages of the library, in Markdown, which rdma-core requires for new ones. Other names of a page are links
# to it
provider_man() {
	local out=$STAGE/$PROVIDER/man page name names alias pages=() aliases=()
	mkdir -p "$out"
	for page in "$TOP"/userspace/man/softmrdv*.[0-9]; do
		name=$(basename "$page")
		provider_page "$page" >"$out/$name.md" || die 1 "$page has no .TH NAME SECTION DATE SOURCE \"MANUAL\""
		pages+=("$name.md")
		mapfile -t names < <(sed -n '/^\.SH NAME/{n;s/\\-.*//;s/[, ]\+/\n/g;p}' "$page" | grep -x 'softmrdv[a-z_]*' || true)
		for alias in "${names[@]}"; do
			[ "$alias" = "${name%.*}" ] || aliases+=("$name $alias.${name##*.}")
		done
	done
	{
		printf 'rdma_man_pages(\n'
		printf '  %s\n' "${pages[@]}"
		printf ')\n'
		[ "${#aliases[@]}" = 0 ] || {
			printf 'rdma_alias_man_pages(\n'
			printf '  %s\n' "${aliases[@]}"
			printf ')\n'
		}
	} >"$out/CMakeLists.txt"
}

# In the tree the provider is built with its own libibverbs: members for which userspace/ibverbs/include/layout.h has
# functions are plain members
core_members() {
	local out=$1
	sed -i -E -e '/^\tstruct smr_layout_room room;$/d' -e '/^ \* @room: /d' \
		-e 's/smr_layout_context\(([^()]+)\)/\1/' \
		-e 's/smr_layout_add_comp_mask\(&(.*), (VERBS_[A-Z_]+)\);/\1.comp_mask |= \2;/' \
		-e 's/~\(known & smr_layout_send_ops\(\)\)/~known/' \
		-e 's/smr_layout_set_(wr_[a-z_]+)\(qpx, ([a-z_]+)\)/qpx->\1 = \2/' "$out"/*.[ch]
	! grep -n 'smr_layout' "$out"/*.[ch] >&2 ||
		die 1 "core_members() does not know what stands for these functions in rdma-core's tree"
}

core_provider() {
	local out=$STAGE/$PROVIDER
	mkdir -p "$out"
	cp "$TOP"/userspace/provider/*.[ch] "$TOP/userspace/provider/libsoftmr.map" "$out"
	core_members "$out"
	sed -i -E 's,#include <(softmr-(abi|why)\.h)>,#include <rdma/\1>,' "$out"/*.[ch]
	use_public_driver_id "$out"/*.[ch]
	provider_cmake >"$out/CMakeLists.txt"
	provider_man
}

# -- the kernel's headers

core_kernel_headers() {
	if [ -n "$KERNEL_SOURCE" ]; then
		# as kernel-headers/update does it
		mkdir -p "$STAGE/kernel-headers/rdma"
		cp "$KERNEL_SOURCE/$KERNEL_IDS" "$STAGE/$CORE_IDS"
		cp "$KERNEL_SOURCE/include/uapi/rdma/softmr-abi.h" "$STAGE/$CORE_ABI"
		cp "$KERNEL_SOURCE/include/uapi/rdma/softmr-why.h" "$STAGE/$CORE_WHY"
	else
		abi_header "$STAGE/$CORE_ABI"
		abi_header "$STAGE/$CORE_WHY"
		add_driver_id "$CORE_IDS"
	fi
	insert after kernel-headers/CMakeLists.txt '^  rdma/siw-abi\.h' $'  rdma/softmr-abi.h\n  rdma/softmr-why.h' all
}

# -- lists

core_lists() {
	insert after CMakeLists.txt '^add_subdirectory\(providers/siw\)' \
		"add_subdirectory($PROVIDER)"$'\n'"add_subdirectory($PROVIDER/man)"
	insert after libibverbs/verbs.h '^extern const struct verbs_device_ops verbs_provider_siw;' \
		'extern const struct verbs_device_ops verbs_provider_softmr;'
	insert after README.md '^ - siw\.ko' ' - softmr.ko'
	insert_section MAINTAINERS '^M:' MAINTAINERS.rdma-core
}

debian_symbols() {
	local version
	version=$(core_version)
	echo 'libsoftmr.so.1 ibverbs-providers #MINVER#'
	echo '* Build-Depends-Package: libibverbs-dev'
	awk -v version="${version%%.*}" '
		/^SOFTMR_[0-9.]+ \{/ { node = $1; print " " node "@" node " " version }
		/^\t\tsoftmrdv_/ { name = $1; sub(/;.*/, "", name); print " " name "@" node " " version }' \
		"$TOP/userspace/provider/libsoftmr.map"
}

core_debian() {
	local line
	insert after debian/control '^  - siw: ' '  - softmr: A software RoCE device with on-demand paging and memory windows'
	insert before debian/copyright '^Files: providers/vmw_pvrdma/' \
		$'Files: providers/softmr/*\nCopyright: The softmr authors\nLicense: BSD-MIT or GPL-2\n'
	insert_sorted debian/ibverbs-providers.install 'usr/lib/*/libsoftmr.so.*'
	for line in 'usr/include/infiniband/softmrdv.h' 'usr/lib/*/libsoftmr.a' 'usr/lib/*/libsoftmr.so' \
		'usr/lib/*/pkgconfig/libsoftmr.pc' 'usr/share/man/man3/softmrdv_*.3'; do
		insert_sorted debian/libibverbs-dev.install "$line"
	done
	[ ! -e "$STAGE/$PROVIDER/man/softmrdv.7.md" ] ||
		insert_sorted debian/libibverbs-dev.install 'usr/share/man/man7/softmrdv.7'
	replace debian/ibverbs-providers.lintian-overrides '(package-name-doesnt-match-sonames .*)$' '\1 libsoftmr1'
	replace debian/ibverbs-providers.lintian-overrides ' and (lib[a-z0-9]+) are ' ', \1 and libsoftmr are '
	debian_symbols >>"$(staged debian/ibverbs-providers.symbols)"
}

SPEC_TEXT='- libsoftmr: A software RoCE device with on-demand paging and memory windows'

core_redhat() {
	local spec=redhat/rdma-core.spec
	insert after $spec '^Obsoletes: librxe <' \
		$'Provides: libsoftmr = %{version}-%{release}\nObsoletes: libsoftmr < %{version}-%{release}'
	insert after $spec '^- libsiw: ' "$SPEC_TEXT"
	insert after $spec '^%\{_libdir\}/libmlx4\.so' '%{_libdir}/libsoftmr.so.*'
	insert after $spec '^%\{_mandir\}/man3/mlx4dv' '%{_mandir}/man3/softmrdv*'
	[ ! -e "$STAGE/$PROVIDER/man/softmrdv.7.md" ] ||
		insert after $spec '^%\{_mandir\}/man7/mlx4dv' '%{_mandir}/man7/softmrdv*'
}

core_suse() {
	local spec=suse/rdma-core.spec
	insert before $spec '^%define ibnetdisc_major' '%define softmr_so_major 1'
	insert after $spec '^%define +mlx5_lname' '%define  softmr_lname libsoftmr%{softmr_so_major}'
	insert before $spec '^Requires: +rsocket = ' 'Requires:       %{softmr_lname} = %{version}-%{release}'
	insert before $spec '^# Recommended packages for rxe' 'Requires:       %{softmr_lname} = %{version}-%{release}'
	insert after $spec '^- libsiw: ' "$SPEC_TEXT"
	insert before $spec '^%package -n %efa_lname' '%package -n %softmr_lname
Summary:        softmr runtime library
Group:          System/Libraries

%description -n %softmr_lname
This package contains the softmr runtime library.
'
	if grep -q '^%ldconfig_scriptlets -n %verbs_lname' "$TREE/$spec"; then
		insert after $spec '^%ldconfig_scriptlets -n %verbs_lname' '%ldconfig_scriptlets -n %softmr_lname'
	else
		insert after $spec '^%postun -n %verbs_lname -p' \
			$'\n%post -n %softmr_lname -p /sbin/ldconfig\n%postun -n %softmr_lname -p /sbin/ldconfig'
	fi
	insert after $spec '^%\{_mandir\}/man3/umad' '%{_mandir}/man3/softmrdv*'
	[ ! -e "$STAGE/$PROVIDER/man/softmrdv.7.md" ] ||
		insert after $spec '^%\{_mandir\}/man7/rdma_cm' '%{_mandir}/man7/softmrdv*'
	insert after $spec '^%\{_libdir\}/libibverbs\*\.so' $'\n%files -n %softmr_lname\n%{_libdir}/libsoftmr*.so.*'
}

export_rdma_core() {
	export_require python3:python3 perl:perl pandoc:pandoc
	core_check
	core_provider
	core_kernel_headers
	core_lists
	core_debian
	core_redhat
	core_suse
}

export_rdma_core_next() {
	local id
	id=$(driver_id "$TREE/$CORE_IDS")
	if [ -n "$KERNEL_SOURCE" ]; then
		say "RDMA_DRIVER_SOFTMR is $id, as in $KERNEL_SOURCE."
	else
		say "RDMA_DRIVER_SOFTMR is $id here; a kernel with other drivers has another number: give -k KERNEL."
	fi
	say "To build it: mkdir build; cd build; cmake -GNinja ..; ninja"
}
