#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Everything that can be checked without running it. Prints problems and their places; if there are none, one line.
#
# lint.sh [CHECK...]: only these checks; lint.sh --list names them
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"
# shellcheck source=scripts/lib/planted.sh
. "$TOP/scripts/lib/planted.sh"

# In the order of the report; the slow ones are started first.
CHECKS=(headers build-newest build-stable build-oldest coccinelle checkpatch kernel-doc documented layers semantics
	models modelled planted doc-names series figures why spdx shellcheck)
SLOW='headers build-* coccinelle checkpatch models planted'

LINT=$BUILD/image/lint
HOST_LINT=(shellcheck:shellcheck perl:perl python3:python3 nm:binutils spin:spin cc:gcc
	/usr/include/stdlib.h:libc6-dev)

# -- which files

# The module's C files in the tree, without generated files
module_files() {
	find "$TOP/kernel" -name '*.[ch]' ! -name '*.mod.c' ! -name generated.h ! -path '*/probes/*' | sort
}

# All files that git tracks or would add
tree_files() { git -C "$TOP" ls-files --cached --others --exclude-standard; }

shell_files() {
	tree_files | while IFS= read -r f; do
		[ -f "$TOP/$f" ] || continue
		case $f in
		*.sh) echo "$TOP/$f" ;;
		*.*) ;;
		*) ! head -n 1 "$TOP/$f" | grep -qaE '^#!.*\b(sh|bash)\b' || echo "$TOP/$f" ;;
		esac
	done
}

# Checks that look at each file alone need not look again at a file that they have found nothing in. $CACHE/lint has an
# empty file for each check, what it checks with, and file that passed

# mark_of CHECK WITH FILE
mark_of() {
	{
		echo "$1 $2 ${3#"$TOP/"}"
		cat "$3"
	} | sha256sum | sed "s:^\([0-9a-f]*\) .*:$CACHE/lint/\1:"
}

# unpassed CHECK WITH: those of the files on the standard input that the check has to look at
unpassed() {
	local f
	while IFS= read -r f; do [ -e "$(mark_of "$1" "$2" "$f")" ] || echo "$f"; done
}

# passed CHECK WITH FINDINGS FILE...: mark those files that the findings do not name
passed() {
	local check=$1 with=$2 findings=$3 f
	shift 3
	for f in "$@"; do
		[[ $findings == *"${f#"$TOP/"}"* ]] || touch "$(mark_of "$check" "$with" "$f")"
	done
}

# -- the checks: each prints the problems, and nothing else

# The lines of a build's log that complain about our files, not about the kernel's headers
complaints() { grep -aE '(warning|error|Error|undefined)[: !]' | grep -avE '/usr/src/linux-headers|/usr/lib/gcc|pahole' || true; }

# Drop false positives of sparse: it counts locks, but does not know that guard() releases them; nor can it compute the
# length of the text of a MODULE_...() or module_...(), which newer kernels assert.
meant() {
	local line f name
	while IFS= read -r line; do
		if [[ $line =~ ^([a-z_/]*\.c):([0-9]+):.*bad\ constant\ expression ]]; then
			sed -n "${BASH_REMATCH[2]}p" "$TOP/kernel/${BASH_REMATCH[1]}" | grep -qE '^(MODULE_|module_|SMR_IMPORT_NS)' && continue
		fi
		if [[ $line =~ ^kernel/([^:]*):.*context\ imbalance\ in\ \'([^\']*)\' ]]; then
			f=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]}
			sed -n "/^[a-z].*\b$name(/,/^}/p" "$TOP/kernel/$f" | grep -q 'guard(' && continue
		fi
		printf '%s\n' "$line"
	done
}

# build ROLE: all warnings of compiler and sparse. Objects that "make all" has compiled, with the compiler's warnings as
# errors, are not compiled again
build() {
	local role=$1 log=$LINT/$1.log status=0
	make_module "$TOP/kernel" "$role" C=2 KBUILD_CHECKSRC=2 CHECK="sparse -D__typeof_unqual__=__typeof__" \
		CF="-fdiagnostic-prefix=sparse" -k >"$log" 2>&1 || status=$?
	complaints <"$log" | sed "s:/build/kernel-$role/:kernel/:g" | meant
	[ "$status" = 0 ] || echo "the module does not build for the $role kernel; the log is $log"
}

check_build-newest() { build newest; }
check_build-stable() { build stable; }
check_build-oldest() { build oldest; }

# Skip semantic patches for style that do not apply to every kernel that softmr runs on
COCCI_SKIPPED='kmalloc_objs|secs_to_jiffies|add_namespace|struct_size|pm_runtime|bq27xxx|platform_|device_attr'

check_coccinelle() {
	local src=$LINT/cocci-src dir=$LINT/cocci with found files=()
	rm -rf "$dir" "$src"
	mkdir -p "$dir" "$src"
	find "$UML_SOURCE/scripts/coccinelle" -name '*.cocci' | grep -vE "$COCCI_SKIPPED" | xargs cp -t "$dir"
	# the image has no compiler for scripts in OCaml
	grep -lE '^@[a-z ]*(script|initialize):ocaml' "$dir"/*.cocci | xargs -r rm
	with=$(cat "$dir"/*.cocci | sha256sum)
	mapfile -t files < <(module_files | grep -vE "^$TOP/kernel/(compat|uapi)/" | unpassed coccinelle "$with")
	[ "${#files[@]}" != 0 ] || return 0
	(cd "$TOP/kernel" && cp --parents -t "$src" "${files[@]#"$TOP/kernel/"}")
	# shellcheck disable=SC2016 # expanded inside the image
	found=$(in_image sh -c 'cd /build/lint/cocci-src && ls ../cocci/*.cocci | xargs -P "$(nproc)" -I{} sh -c "
		spatch -D report --very-quiet --no-show-diff --no-includes --include-headers --cocci-file {} . 2>{}.err ||
			echo spatch fails: {}: \$(tail -n 1 {}.err)"' |
		sed 's:^\./:kernel/:' | grep -a . || true)
	[ -z "$found" ] || echo "$found"
	[[ $found == *"spatch fails"* ]] || passed coccinelle "$with" "$found" "${files[@]}"
}

# Checks that are off, and why:
# - COMPLEX_MACRO, MULTISTATEMENT_MACRO_USE_DO_WHILE, MACRO_ARG_*: tables that are made by macros
# - UNCOMMENTED_DEFINITION: the kernel-doc of a struct says what its locks guard
# - in trace.h, those that the shape of TRACE_EVENT() cannot satisfy
# - ALLOC_WITH_SIZEOF: only the newest kernels have kzalloc_obj()
CHECKPATCH_OFF=COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE,MACRO_ARG_UNUSED,MACRO_ARG_REUSE
CHECKPATCH_OFF+=,MACRO_ARG_PRECEDENCE,UNCOMMENTED_DEFINITION,ALLOC_WITH_SIZEOF

check_checkpatch() {
	local tool=$UML_SOURCE/scripts/checkpatch.pl with found files=()
	with="$CHECKPATCH_OFF $(sha256sum <"$tool")"
	mapfile -t files < <(module_files | unpassed checkpatch "$with")
	[ "${#files[@]}" != 0 ] || return 0
	found=$(perl "$tool" --no-tree --strict --terse --show-types --no-summary --quiet --ignore "$CHECKPATCH_OFF" \
		--max-line-length=100 -f "${files[@]}" 2>&1 | sed "s:^$TOP/::" |
		grep -vE '/trace\.h:[0-9]+: CHECK:(OPEN_ENDED_LINE|PARENTHESIS_ALIGNMENT)' || true)
	[ -z "$found" ] || echo "$found"
	passed checkpatch "$with" "$found" "${files[@]}"
}

check_kernel-doc() {
	module_files | xargs python3 "$UML_SOURCE/scripts/kernel-doc" -none -Wall 2>&1 | sed "s:$TOP/::" | sort -u || true
}

# Each function and struct that a folder offers to files of other folders has its kernel-doc, here or there. Inside a
# folder a comment is free
check_documented() {
	# shellcheck disable=SC2016 # expanded by awk
	module_files | xargs awk -v top="$TOP/kernel/" '
		FNR == 1 {
			file = substr(FILENAME, length(top) + 1)
			folder = file
			sub(/[^\/]*$/, "", folder)
		}
		/^ \* (struct |enum |union )?smr_[a-z0-9_]+(\(\))? - / {
			name = $2 == "struct" || $2 == "enum" || $2 == "union" ? $3 : $2
			sub(/\(\)/, "", name)
			documented[name]
		}
		/^# *include "/ {
			header = $0
			gsub(/^[^"]*"|".*/, "", header)
			its = header
			sub(/[^\/]*$/, "", its)
			if (its != folder) public[header]
		}
		file ~ /^(uapi|compat)\// || file !~ /\.h$/ { next }
		/^struct smr_[a-z0-9_]+ \{/ { where[$2] = file; line[$2] = FNR }
		/^[a-z].*smr_[a-z0-9_]+\(/ && !/^static inline/ {
			name = $0
			sub(/\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			where[name] = file
			line[name] = FNR
		}
		END {
			for (name in where)
				if (where[name] in public && !(name in documented))
					print "kernel/" where[name] ":" line[name] ": " name " has no kernel-doc"
		}' | sort
}

# Every header compiles alone
check_headers() {
	local dir=$LINT/headers h release
	release=$(kernel_release newest)
	sync_tree "$TOP/kernel" "$dir"
	while IFS= read -r h; do
		h=${h#"$TOP/kernel/"}
		echo "#include \"$h\"" >"$dir/alone-$(tr / - <<<"${h%.h}").c"
		echo "alone-$(tr / - <<<"${h%.h}").o"
	done < <(module_files | grep '\.h$') >"$dir/targets"
	# building this object first makes the headers that compat/ includes
	in_image make -C "/lib/modules/$release/build" M=/build/lint/headers stats.o >"$dir.log" 2>&1 || true
	# shellcheck disable=SC2046 # words are meant
	in_image make -C "/lib/modules/$release/build" M=/build/lint/headers -k -j"$(nproc)" $(cat "$dir/targets") >"$dir.log" 2>&1 ||
		complaints <"$dir.log" | sed 's:/build/lint/headers/:kernel/:g'
}

# The objects from which scripts/layers reads calls. Those of the module are from build-newest, after which this check
# runs, or are built for it
LAYERS_OBJECTS=(
	kernel="$IMAGE/kernel-newest"
	selftests/kmod="$IMAGE/kmod-newest"
	selftests/lib="$IMAGE/selftests/lib"
	userspace/provider="$IMAGE/provider/provider/CMakeFiles/softmr.dir"
	userspace/run="$IMAGE/run"
	userspace/tools/softmr="$IMAGE/provider/tools/softmr/CMakeFiles"
)

build_for_layers() {
	[[ " ${CHECKS[*]} " == *" build-newest "* ]] || make_module "$TOP/kernel" newest -j"$(nproc)" || return
	make_module "$TOP/selftests/kmod" newest && in_image make -C /src/userspace/run O=/build/run && build_layer uml
}

check_layers() {
	build_for_layers >"$LINT/layers.log" 2>&1 || { echo "the objects cannot be built; the log is $LINT/layers.log"; return; }
	"$TOP/scripts/layers" "$TOP" "${LAYERS_OBJECTS[@]}" || true
}

check_semantics() { "$TOP/scripts/semantics" "$TOP" || true; }

check_models() { "$TOP/scripts/models" --out "$LINT/models" "$TOP" | sed "s:$TOP/::" || true; }

check_modelled() { "$TOP/scripts/models" --code "$TOP" || true; }

check_planted() { planted_check; }

# The patches for the kernel have each file once, in an order in which each of them compiles
check_series() {
	local found
	found=$("$TOP/scripts/export.d/series" "$TOP/Documentation/upstream/series" "$TOP/kernel") || echo "$found"
}

check_figures() { "$TOP/scripts/bench/figures.py" "$TOP" --check || true; }

check_why() { "$TOP/scripts/why" "$TOP" || true; }

check_doc-names() { "$TOP/scripts/doc-names" "$TOP" || true; }

check_spdx() {
	local f
	tree_files | while IFS= read -r f; do
		case $f in README | selftests/README | SECURITY | CHANGELOG | CONTRIBUTING | VERSION | LICENSES/* | debian/* | *.md | *.json | Documentation/figures/*.csv | *.svg | *.png | *.map | */.gitignore | .gitignore) continue ;; esac
		[ -s "$TOP/$f" ] || continue
		head -n 3 "$TOP/$f" | grep -qa 'SPDX-License-Identifier: ' || echo "$f: no SPDX-License-Identifier in the first three lines"
	done
}

check_shellcheck() {
	local files
	mapfile -t files < <(shell_files)
	(cd "$TOP" && shellcheck -x -f gcc "${files[@]#"$TOP/"}") || true
}

# -- all of them

prepare() {
	# shellcheck disable=SC2119 # no bed is needed
	host_require
	host_provide "${HOST_LINT[@]}" || exit 1
	with_lock image image_make
	with_lock linux-source uml_source_make
	mkdir -p "$LINT" "$CACHE/lint"
	find "$CACHE/lint" -type f -mtime +30 -delete
}

# A check; its findings go to a file, and so do its seconds
run_check() {
	local begin=$SECONDS
	"check_$1" >"$LINT/found.$1" 2>&1 || echo "the check failed to run: $1" >>"$LINT/found.$1"
	echo "$((SECONDS - begin)) $1" >"$LINT/took.$1"
}

is_slow() {
	local glob
	for glob in $SLOW; do
		# shellcheck disable=SC2053 # a glob is meant
		[[ $1 == $glob ]] && return
	done
	return 1
}

# Two at a time: compiling takes most of the time, and each is a single make. "layers" needs the compiled objects
run_checks() {
	local c running=0 last=
	for c in "$@"; do
		[ "$c" != layers ] || { last=$c; continue; }
		if [ "$running" -ge "$(nproc)" ]; then
			wait -n
			running=$((running - 1))
		fi
		run_check "$c" &
		running=$((running + 1))
	done
	wait
	[ -z "$last" ] || run_check "$last"
}

# The checks that took a minute or more, the slowest first
took() {
	local seconds name
	cat "${@/#/$LINT/took.}" | sort -rn | while read -r seconds name; do
		[ "$seconds" -lt 60 ] || printf ', %s %s' "$name" "$(elapsed "$seconds")"
	done
}

report() {
	local c bad=0
	for c in "$@"; do
		[ -s "$LINT/found.$c" ] || continue
		echo "== $c"
		cat "$LINT/found.$c"
		bad=$((bad + 1))
	done
	[ "$bad" = 0 ] || {
		echo "lint: $bad of $# checks found something ($(elapsed $SECONDS)$(took "$@"))"
		return 1
	}
	echo "lint: clean ($# checks, $(elapsed $SECONDS)$(took "$@"))"
}

case ${1:-} in
--list)
	printf '%s\n' "${CHECKS[@]}"
	exit
	;;
-*) die 2 "unknown option $1; usage: lint.sh [--list] [CHECK...]" ;;
esac
[ $# = 0 ] || CHECKS=("$@")
prepare
slow=() quick=()
for check in "${CHECKS[@]}"; do
	declare -F "check_$check" >/dev/null || die 2 "there is no check '$check' (see --list)"
	if is_slow "$check"; then slow+=("$check"); else quick+=("$check"); fi
done
run_checks ${slow[@]+"${slow[@]}"} ${quick[@]+"${quick[@]}"}
report "${CHECKS[@]}"
