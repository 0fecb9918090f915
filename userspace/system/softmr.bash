# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of softmr's command line for bash.

_softmr_netdevs() {
	local path
	for path in /sys/class/net/*; do
		[ -d "$path" ] && printf '%s\n' "${path##*/}"
	done
}

# Those that are there, and those that are persistent
_softmr_links() {
	local path line
	for path in /sys/class/infiniband/*; do
		[ -e "$path/ports/1/hw_counters/mr_dereg_refused" ] && printf '%s\n' "${path##*/}"
	done
	for path in /etc/softmr/links.d/*; do
		[ -f "$path" ] || continue
		while read -r line; do
			[[ $line =~ ^name[[:space:]]*=[[:space:]]*([^[:space:]]+) ]] && printf '%s\n' "${BASH_REMATCH[1]}"
		done <"$path"
	done
}

_softmr_configured() {
	local path
	for path in /etc/softmr/links.d/*; do
		[ -f "$path" ] && printf '%s\n' "${path##*/}"
	done
	echo --all
}

# The words that may stand at $COMP_CWORD, one a line
_softmr_words() {
	local words=("${COMP_WORDS[@]:1:COMP_CWORD-1}") w plain=()
	for w in "${words[@]}"; do [[ $w = -* ]] || plain+=("$w"); done
	case "${plain[0]-} ${plain[1]-}" in
	" ") printf '%s\n' status doctor link mr run --help --version ;;
	"status " | "doctor ") printf '%s\n' --json --help ;;
	"link ") printf '%s\n' add del list up-configured down-configured --help ;;
	"link add")
		case ${#plain[@]} in
		2) echo softmr0 ;;
		3) echo netdev ;;
		4) _softmr_netdevs ;;
		*) echo --persistent ;;
		esac
		;;
	"link del") if [ ${#plain[@]} = 2 ]; then _softmr_links; else echo --persistent; fi ;;
	"link list") echo --json ;;
	"link up-configured" | "link down-configured") _softmr_configured ;;
	"mr "*) _softmr_links && printf '%s\n' --windows= --size= --exec= --help ;;
	esac
}

_softmr() {
	local cur=${COMP_WORDS[COMP_CWORD]}
	# names have no blanks
	mapfile -t COMPREPLY < <(_softmr_words | sort -u | while IFS= read -r w; do
		[[ $w = "$cur"* ]] && printf '%s\n' "$w"
	done)
}

complete -F _softmr softmr
