# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Planted bugs, selftests/planted/GROUP/NAME: each is a possible bug in kernel/, and the test that must find it.
# testing.rst explains their lines.

PLANTED=$TOP/selftests/planted

# planted_bugs [GROUP...]: print "GROUP/NAME" of all bugs, or of those of these groups
planted_bugs() {
	local group
	[ $# != 0 ] || set -- '*'
	for group; do
		# shellcheck disable=SC2086 # a glob is meant
		(cd "$PLANTED" && printf '%s\n' $group/*)
	done
}

# planted_value BUG KEY: the line KEY of a bug, or its lines, one each
planted_value() { sed -n "s/^$2: //p" "$PLANTED/$1"; }

# planted_test BUG: set TEST to the file that guests run, CASE to its case that must fail, or to nothing, ARGUMENTS, and
# SIGN, the expression that a line of the test's output, or of the kernel's, must match
planted_test() {
	local name
	name=$(planted_value "$1" test)
	SIGN=$(planted_value "$1" sign)
	ARGUMENTS=
	if [[ $name =~ ^([a-z_]+\.sh)( (.*))?$ ]]; then
		TEST=${BASH_REMATCH[1]} CASE=${BASH_REMATCH[3]}
		SIGN=${SIGN:-^not ok .*$CASE}
		return
	fi
	TEST=${name%%.*} CASE=${name#"${name%%.*}"}
	CASE=${CASE#.}
	# a variant (a row of semantics.rst is one, too), or a test of each variant
	if [ "$CASE" ] && grep -qE "^(ROW|HOW|FIXTURE_VARIANT_ADD)\((.*, )?${CASE}[,)]" "$TOP/selftests/$TEST.c"; then
		ARGUMENTS="-v $CASE"
	elif [ "$CASE" ]; then
		ARGUMENTS="-t $CASE"
	fi
	SIGN=${SIGN:-^not ok .*${CASE:+\\.$CASE(\\.| |\$)}}
}

# plant BUG COPY: apply it to a copy of kernel/. Each edit must change one line
plant() {
	local bug=$1 file edit
	file=$2/$(planted_value "$bug" file)
	while IFS= read -r edit; do
		sed "$edit" "$file" >"$file.planted" || return
		if [ "$(diff "$file" "$file.planted" | grep -c '^[<>]')" != 2 ]; then
			warn "the bug $bug does not change one line of ${file#"$2/"}: $edit"
			rm "$file.planted"
			return 1
		fi
		mv "$file.planted" "$file"
	done < <(planted_value "$bug" edit)
}

# planted_has_case: does the file TEST have the CASE?
planted_has_case() {
	case $TEST in
	*.sh) grep -qE -e "$CASE" "$TOP/selftests/$TEST" ;;
	*) grep -qE "^[A-Z][A-Z_]*\((.*, )?${CASE}[,)]" "$TOP/selftests/$TEST.c" ;;
	esac
}

# planted_check: print problems of the planted bugs, a line each
planted_check() {
	# shellcheck disable=SC2034 # planted_test sets it
	local bug copy group TEST CASE ARGUMENTS SIGN
	copy=$(mktemp -d)
	cp -r "$TOP/kernel/." "$copy"
	for bug in $(planted_bugs); do
		if [ ! -e "$copy/$(planted_value "$bug" file)" ] || [ -z "$(planted_value "$bug" edit)" ]; then
			echo "selftests/planted/$bug: it has no edit of a file"
			continue
		fi
		plant "$bug" "$copy" 2>&1 || true
		cp "$TOP/kernel/$(planted_value "$bug" file)" "$copy/$(planted_value "$bug" file)"
		planted_test "$bug" 2>/dev/null
		if [ ! -e "$TOP/selftests/$TEST" ] && [ ! -e "$TOP/selftests/$TEST.c" ]; then
			echo "selftests/planted/$bug: there is no test $TEST"
		elif [ "$CASE" ] && ! planted_has_case; then
			echo "selftests/planted/$bug: $TEST has no '$CASE'"
		fi
	done
	rm -r "$copy"
	for group in "$PLANTED"/*; do
		[ -x "$TOP/selftests/beds/planted_${group##*/}.sh" ] || echo "${group#"$TOP/"}: there is no selftests/beds/planted_${group##*/}.sh, which plants them"
	done
}

# planted_build BUG OUT: make OUT/softmr.ko, a module with this bug for uml-checked. It is built in the copy in which
# the module without the bug was built, so the caller holds the lock of that layer. The file and its object are restored
# with their times, so that the next build need not compile them again; but users of a changed header are compiled
# again.
planted_build() {
	local bug=$1 out=$2 copy=$BUILD/uml-checked/kernel file now status=0
	now=$(source_key kernel)
	if [ "${PLANTED_IN:-}" != "$now" ]; then
		sync_tree "$TOP/kernel" "$copy"
		record_in_module checked "$copy"
		PLANTED_IN=$now
	fi
	file=$copy/$(planted_value "$bug" file)
	cp -p "$file" "$out/${file##*/}"
	[ "${file##*.}" = h ] || cp -p "${file%.c}.o" "$out/object"
	plant "$bug" "$copy" && planted_make "$copy" && cp "$copy/softmr.ko" "$out/softmr.ko" || status=$?
	if [ "${file##*.}" = h ]; then
		cp "$out/${file##*/}" "$file"
	else
		cp -p "$out/${file##*/}" "$file"
		cp -p "$out/object" "${file%.c}.o"
	fi
	return "$status"
}

planted_make() { make -C "$(uml_dir checked)" ARCH=um M="$1" W=1 -j"$(nproc)" modules; }
