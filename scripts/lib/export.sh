# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The part of scripts/export for any tree. It makes all changes in a copy of the files, and copies them to the tree at
# the end, when nothing can fail any more.
#
#   $TREE   the unpacked source
#   $STAGE  its files that are new or changed
#   $WORK   what else is needed on the way

# shellcheck disable=SC2034 # for the others
HOST_EXPORT=(unifdef:unifdef python3:python3 perl:perl)
UPSTREAM=$TOP/Documentation/upstream
# shellcheck disable=SC2034
EXPORT_TOOLS=$TOP/scripts/export.d

git_identity() { echo "$(git config user.name 2>/dev/null) <$(git config user.email 2>/dev/null)>"; }

# export_require NEED...: the host's requirements
export_require() {
	host_provide "$@" || exit 1
}

# must_have WHAT FILE...: the tree is a source of WHAT, because it has these files
must_have() {
	local what=$1 file
	shift
	for file in "$@"; do
		[ -e "$TREE/$file" ] || die 2 "$TREE is not $what: it has no $file"
	done
}

# must_not_have PATTERN FILE...: softmr is not yet in the tree
must_not_have() {
	local pattern=$1 found
	shift
	for found in "$@"; do
		[ -e "$TREE/$found" ] || continue
		[ -f "$TREE/$found" ] && ! grep -qE "$pattern" "$TREE/$found" && continue
		die 2 "$TREE has softmr already: $found. Unpack the source again, or take softmr out of it"
	done
}

# staged FILE: the copy of FILE that may be changed
staged() {
	if [ ! -e "$STAGE/$1" ]; then
		mkdir -p "$(dirname "$STAGE/$1")"
		cp "$TREE/$1" "$STAGE/$1" || die 1 "cannot read $TREE/$1"
	fi
	echo "$STAGE/$1"
}

# insert after|before FILE REGEX TEXT [all]: insert TEXT before or after the first matching line, or all of them
insert() {
	local where=$1 file=$2 regex=$3 out
	out=$(staged "$file")
	grep -qE -- "$regex" "$out" || die 1 "$TREE/$file: there is no line that matches '$regex', where softmr would go"
	WHERE=$where REGEX=$regex TEXT=$4 ALL=${5:-} awk '
		{ match_here = ($0 ~ ENVIRON["REGEX"]) && (!done || ENVIRON["ALL"]) }
		match_here && ENVIRON["WHERE"] == "before" { print ENVIRON["TEXT"] }
		{ print }
		match_here && ENVIRON["WHERE"] == "after" { print ENVIRON["TEXT"] }
		match_here { done = 1 }' "$out" >"$out.new"
	mv "$out.new" "$out"
}

# replace FILE REGEX TEXT: at least once; both in the syntax of sed -E
replace() {
	local out
	out=$(staged "$1")
	grep -qE -- "$2" "$out" || die 1 "$TREE/$1: there is no line that matches '$2', where softmr would go"
	sed -i -E $'s\001'"$2"$'\001'"$3"$'\001' "$out"
}

# insert_sorted FILE LINE: insert the line in its place in a sorted list
insert_sorted() {
	local out
	out=$(staged "$1")
	LINE=$2 LC_ALL=C awk '
		!done && $0 > ENVIRON["LINE"] { print ENVIRON["LINE"]; done = 1 }
		{ print }
		END { if (!done) print ENVIRON["LINE"] }' "$out" >"$out.new"
	mv "$out.new" "$out"
}

# template NAME: a text of Documentation/upstream without its SPDX line, and with the maintainer
template() {
	MAINTAINER=$MAINTAINER perl -pe '
		$_ = "" if $. <= 2 && /SPDX-License-Identifier/;
		s/\@MAINTAINER\@/$ENV{MAINTAINER}/' "$UPSTREAM/$1"
}

# insert_section FILE START TEMPLATE: insert a section into MAINTAINERS, after the one with the next smaller name of
# those that follow the line START. The file is not sorted everywhere.
insert_section() {
	local out text
	out=$(staged "$1")
	text=$(template "$3")
	grep -qE "$2" "$out" || die 1 "$TREE/$1: there is no line that matches '$2'"
	START=$2 TEXT=$text LC_ALL=C awk '
		BEGIN { name = ENVIRON["TEXT"]; sub(/\n.*/, "", name) }
		{ line[NR] = $0 }
		$0 ~ ENVIRON["START"] { begun = 1 }
		begun && /^[A-Z0-9]/ && !/^[A-Z]:/ && line[NR - 1] == "" && $0 < name && $0 > best { best = $0; at = NR }
		END {
			for (i = 1; i <= NR; i++) {
				print line[i]
				if (at && i > at && line[i] == "") { print ENVIRON["TEXT"] "\n"; at = 0 }
			}
			if (at) print "\n" ENVIRON["TEXT"]
		}' "$out" >"$out.new"
	mv "$out.new" "$out"
}

# The driver's id: the private number is for out-of-tree modules
use_public_driver_id() {
	perl -0pi -e '
		s/(?<!\w)\(\(enum rdma_driver_id\)SMR_DRIVER_ID\)/RDMA_DRIVER_SOFTMR/g;
		s/\(enum rdma_driver_id\)SMR_DRIVER_ID|\bSMR_DRIVER_ID\b/RDMA_DRIVER_SOFTMR/g;
		while (s/^#define (\w+)\s+RDMA_DRIVER_SOFTMR\n\n?//m) { my $name = $1; s/\b$name\b/RDMA_DRIVER_SOFTMR/g }' "$@"
}

# abi_header OUT: the ABI header of that name, in the form for the kernel
abi_header() {
	mkdir -p "$(dirname "$1")"
	cp "$TOP/kernel/uapi/$(basename "$1")" "$1"
	perl -0pi -e '
		s,/\*(?:[^*]|\*(?!/))*\*/\n#define SMR_DRIVER_ID\b[^\n]*\n\n?,,;
		s/ 1 << 12 is\n \* UVERBS_ID_NS_SHIFT: the driver.s name space of ids\.//;
		if (s/\(1U << 12\)/(1U << UVERBS_ID_NS_SHIFT)/g) {
			s,(#include <linux/types.h>\n),$1#include <rdma/ib_user_ioctl_cmds.h>\n,;
		}' "$1"
	! grep -n SMR_DRIVER_ID "$1" >&2 || die 1 "kernel/uapi/$(basename "$1"): SMR_DRIVER_ID is not a #define behind a comment"
}

# add_driver_id FILE: after the last one of the enum
add_driver_id() {
	local out
	out=$(staged "$1")
	perl -0pi -e 's/(enum rdma_driver_id \{[^}]*?,?)\n\};/$1\n\tRDMA_DRIVER_SOFTMR,\n};/' "$out"
	grep -q RDMA_DRIVER_SOFTMR "$out" || die 1 "$TREE/$1: there is no enum rdma_driver_id, which softmr's id would go to"
}

# driver_id FILE: the number that the enum gives to softmr
driver_id() {
	{
		sed -n '/^enum rdma_driver_id {/,/^};/p' "$1"
		echo 'softmr_id_is RDMA_DRIVER_SOFTMR'
	} | awk '
		/^softmr_id_is/ { print id["RDMA_DRIVER_SOFTMR"] }
		/^\tRDMA_DRIVER_/ {
			name = $1
			sub(/,.*/, "", name)
			if ($2 == "=") { value = $3; sub(/,.*/, "", value); n = value in id ? id[value] : value + 0 }
			id[name] = n++
		}'
}

# export_to FUNCTION: fill the stage, then the tree; print what was added
export_to() {
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/softmr-export.XXXXXX")
	STAGE=$WORK/stage
	mkdir "$STAGE"
	at_exit export_clean
	"$1"
	(cd "$STAGE" && find . -type f -printf '%P\n') | LC_ALL=C sort >"$WORK/files"
	while IFS= read -r file; do
		if [ -e "$TREE/$file" ]; then echo "$file"; fi
	done <"$WORK/files" >"$WORK/changed"
	# do not overwrite in place: the tree may consist of hard links
	cp -r --remove-destination "$STAGE/." "$TREE/"
	export_tell "$1"
}

export_clean() { rm -rf "${WORK:?}"; }

# A new directory counts as one file
export_tell() {
	local new
	new=$(grep -vxFf "$WORK/changed" "$WORK/files" || true)
	say "$TREE has softmr now:"
	# shellcheck disable=SC2001 # of each line
	awk -F / '/\/softmr\// { sub(/\/softmr\/.*/, "/softmr/"); n[$0]++; next } { print "  new      " $0 }
		END { for (d in n) print "  new      " d "  (" n[d] " files)" }' <<<"$new" >&2
	sed 's/^/  changed  /' "$WORK/changed" >&2
	"${1}_next"
}
