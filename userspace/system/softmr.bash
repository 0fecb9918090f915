# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of the command lines of softmr and softmr-run for bash. Commands and options are --help's.

_softmr_netdevs() {
	local path
	for path in /sys/class/net/*; do
		[ -d "$path" ] && printf '%s\n' "${path##*/}"
	done
}

_softmr_links() { softmr link list 2>/dev/null | awk 'NR > 1 { print $1 }'; }

# _softmr_options PROGRAM...: a line for each of its options, with its argument: "--nodes N", "-n N", "--each "
_softmr_options() {
	local option='(--[a-z-]+)[ =]?([A-Z]+)?( .*)?$'
	"$@" --help 2>/dev/null | sed -nE "s/^ {1,6}(-[a-zA-Z]), $option/\1 \3\n\2 \3/p; t; s/^ {1,6}$option/\1 \2/p"
}

# _softmr_is CUR WORD...: set COMPREPLY to the words of WORD... that begin with CUR; names have no blanks
_softmr_is() { mapfile -t COMPREPLY < <(compgen -W "${*:2}" -- "$1" | sort -u); }

# _softmr_program PLACE PROGRAM...: PROGRAM, whose name is the word at PLACE, takes options, and then a command (run,
# trace) or a link (capture). Where COMPREPLY stays empty, bash completes file names
_softmr_program() {
	local i=$(($1 + 1)) cur=${COMP_WORDS[COMP_CWORD]} options takes
	shift
	options=$(_softmr_options "$@")
	while [ "$i" -lt "$COMP_CWORD" ] && [[ ${COMP_WORDS[i]} = -* ]]; do
		takes=$(sed -n "s/^${COMP_WORDS[i]} //p" <<<"$options")
		i=$((i + 1))
		[ "${COMP_WORDS[i - 1]}" != -- ] || break
		[ -n "$takes" ] || continue
		# --nodes=2 is three words
		[ "${COMP_WORDS[i]}" != = ] || i=$((i + 1))
		if [ "$i" -ge "$COMP_CWORD" ]; then
			[ "$takes" != DIR ] || mapfile -t COMPREPLY < <(compgen -d -- "${cur#=}")
			return
		fi
		i=$((i + 1))
	done
	if [ "$i" = "$COMP_CWORD" ] && [[ $cur = -* ]]; then
		_softmr_is "$cur" "$(cut -d ' ' -f 1 <<<"$options")"
	elif [[ "$*" = *capture ]]; then
		[ "$i" != "$COMP_CWORD" ] || _softmr_is "$cur" "$(_softmr_links)"
	elif [ "$i" = "$COMP_CWORD" ]; then
		# bash completes paths
		[[ $cur = */* ]] || mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
	elif declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$i"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$i"
	fi
}

# The words of "softmr link" that may stand at $COMP_CWORD
_softmr_link_words() {
	local w plain=()
	for w in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do [[ $w = -* ]] || plain+=("$w"); done
	case "${plain[0]-} ${#plain[@]} ${plain[*]: -1}" in
	" "*) echo add del delete list show --json --help ;;
	"add 1 "*) echo softmr0 ;;
	"add 2 "*) echo netdev type ;;
	"add 3 type") echo softmr ;;
	"add 4 softmr") echo netdev ;;
	"add "*" netdev") _softmr_netdevs ;;
	"del 1 "* | "delete 1 "*) _softmr_links ;;
	"list 1 "* | "show 1 "*) _softmr_links && echo --json ;;
	"list "* | "show "*) echo --json ;;
	esac
}

_softmr() {
	local cur=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]}
	COMPREPLY=()
	case $program in
	*softmr-run)
		_softmr_program 0 "$program"
		return
		;;
	esac
	case "$COMP_CWORD ${COMP_WORDS[1]}" in
	"1 "*)
		_softmr_is "$cur" "$("$program" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p')" \
			"$(_softmr_options "$program" | cut -d ' ' -f 1)"
		;;
	*" run" | *" trace" | *" capture") _softmr_program 1 "$program" "${COMP_WORDS[1]}" ;;
	*" link") _softmr_is "$cur" "$(_softmr_link_words)" ;;
	*) _softmr_is "$cur" "$(_softmr_options "$program" "${COMP_WORDS[1]}" | cut -d ' ' -f 1)" ;;
	esac
}

complete -o bashdefault -o default -F _softmr softmr softmr-run
