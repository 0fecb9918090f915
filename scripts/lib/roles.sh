# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Which kernels the beds run on. A bed has a role, not a version. When the guest image is made, the archive's package
# lists decide which package has the role. Nothing else in the tree names a kernel series.
#
#   stable   the kernel of Debian 13
#   newest   the newest kernel in the backports of Debian 13
#   oldest   the kernel of Debian 12, the oldest that softmr supports
#   cloud    the kernel of Debian 13's cloud images, which has neither rdma_rxe nor siw
#   rt       the newest kernel with PREEMPT_RT in the backports of Debian 13
#
# A package list has a line per package: "SUITE PACKAGE VERSION [DEPENDENCY...]", of the packages whose names begin with
# "linux-" only. archive_kernels writes it; the functions below read it from a file, so a test can use a made-up one.

ROLES=(newest stable oldest cloud rt)

# The places of a role's kernel, best first. Each word is SUITES:FLAVOUR; SUITES are joined by "+" and searched as one.
role_places() {
	case $1 in
	newest) echo trixie-backports:amd64 trixie+trixie-updates:amd64 bookworm:amd64 ;;
	stable) echo trixie+trixie-updates:amd64 trixie-backports:amd64 bookworm:amd64 ;;
	oldest) echo bookworm:amd64 trixie+trixie-updates:amd64 trixie-backports:amd64 ;;
	rt) echo trixie-backports:rt-amd64 trixie+trixie-updates:rt-amd64 bookworm:rt-amd64 ;;
	cloud) echo trixie+trixie-updates:cloud-amd64 trixie-backports:cloud-amd64 bookworm:cloud-amd64 ;;
	esac
}

# The suites of all roles
role_suites() {
	local role
	for role in "${ROLES[@]}"; do role_places "$role"; done | tr ' +' '[\n*]' | sed 's/:.*//' | sort -u
}

# usable_kernels LIST SUITES FLAVOUR: the releases whose image, headers and dependencies of the headers are in the list;
# oldest first. A partly updated mirror has images without headers, or headers without linux-kbuild.
usable_kernels() {
	awk -v suites="+$2+" -v flavour="$3" '
		{ there[$2] }
		index(suites, "+" $1 "+") && $2 ~ "^linux-image-[0-9][^-]*(-[0-9]+)?-" flavour "$" { image[$2] = $3 }
		$2 ~ /^linux-headers-[0-9]/ {
			needs[$2] = ""
			for (i = 4; i <= NF; i++) needs[$2] = needs[$2] " " $i
		}
		END {
			for (name in image) {
				headers = name
				sub(/image/, "headers", headers)
				if (!(headers in there)) continue
				whole = 1
				n = split(needs[headers], need, " ")
				for (i = 1; i <= n; i++) if (need[i] ~ /^linux-/ && !(need[i] in there)) whole = 0
				if (!whole) continue
				sub(/^linux-image-/, "", name)
				print name
			}
		}' "$1" | sort -V
}

# role_kernel LIST ROLE [ARCHITECTURE]: "RELEASE SUITES" of the kernel that has this role. If its first place has no
# usable kernel, the next place is used, and a line is printed.
role_kernel() {
	local place release missed=''
	for place in $(role_places "$2" | sed "s/amd64/${3:-amd64}/g"); do
		release=$(usable_kernels "$1" "${place%:*}" "${place#*:}" | tail -n 1)
		if [ "$release" ]; then
			[ -z "$missed" ] ||
				say "  NOTE  no usable kernel in ${missed# }: the $2 kernel is $release of ${place%:*}"
			echo "$release ${place%:*}"
			return
		fi
		missed+=" ${place%:*}"
	done
	warn "the archive has no kernel for the role $2: no linux-image-*-${place#*:} with its headers in$missed." \
		"If the mirror is being updated, try again later; otherwise check the package sources of this machine"
	return 1
}

# newest_source LIST: the newest linux-source package, "NAME VERSION"
newest_source() {
	awk '$2 ~ /^linux-source-[0-9.]+$/ { print $3, $2 }' "$1" | sort -V | awk 'END { if (NR) print $2, $1 }'
}

# archive_kernels: the package list of the archive (see apt.sh)
archive_kernels() {
	local file suite
	# shellcheck disable=SC2016 # apt's variables, not the shell's
	apt_own apt-get indextargets --format '$(FILENAME) $(CODENAME) $(SUITE)' 'Created-By: Packages' |
		while read -r file suite _; do
			/usr/lib/apt/apt-helper cat-file "$file" | awk -v suite="$suite" '
				function flush() { if (name ~ /^linux-/) print suite, name, version, needs; name = needs = "" }
				/^Package: / { name = $2 }
				/^Version: / { version = $2 }
				/^Depends: / {
					sub(/^Depends: /, "")
					n = split($0, part, /, */)
					for (i = 1; i <= n; i++) { split(part[i], word, " "); needs = needs " " word[1] }
				}
				/^$/ { flush() }
				END { flush() }'
		done
}

# The release (uname -r) of the kernel that has a role in the guest image
kernel_release() {
	awk -v role="$1" '$1 == role { print $2 }' "$BASE/kernels"
}

is_role() { [[ -n "$1" && " ${ROLES[*]} " == *" $1 "* ]]; }

# Print one line per role: which kernel has it
say_roles() {
	local role release suites
	while read -r role release suites; do
		say "  BED   $role: $release ($suites)"
	done <"$BASE/kernels"
}
