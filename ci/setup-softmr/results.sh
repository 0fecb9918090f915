# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What setup-softmr prints: where the links are, for a shell or as JSON, and in the files that CI's steps share.

# result NAME VALUE: for a shell unless JSON is printed, and in the files that were asked for
result() {
	local name=SOFTMR_${1^^}
	name=${name//-/_}
	[ "$JSON" ] || printf 'export %s=%q\n' "$name" "$2"
	[ -z "$OUTPUT" ] || printf '%s=%s\n' "$1" "$2" >>"$OUTPUT"
	[ -z "$ENVIRONMENT" ] || printf '%s=%s\n' "$name" "$2" >>"$ENVIRONMENT"
}

# json_string VALUE
json_string() {
	local value=${1//\\/\\\\}
	value=${value//\"/\\\"}
	value=${value//$'\n'/\\n}
	printf '"%s"' "${value//$'\t'/\\t}"
}

# results_json RUN DEVICES NETDEVS ADDRESSES GID-INDEXES: null for an address that there is not
results_json() {
	local devices netdevs ips indexes i
	read -ra devices <<<"$2"
	read -ra netdevs <<<"$3"
	read -ra ips <<<"$4"
	read -ra indexes <<<"$5"
	printf '{"mode": %s, "run": %s, "links": [' "$(json_string "$MODE")" "$(json_string "$1")"
	for i in "${!devices[@]}"; do
		[ "$i" = 0 ] || printf ', '
		printf '{"device": %s, "netdev": %s' "$(json_string "${devices[i]}")" "$(json_string "${netdevs[i]}")"
		if [ "${ips[i]:--}" = - ]; then
			printf ', "address": null'
		else
			printf ', "address": %s' "$(json_string "${ips[i]}")"
		fi
		printf ', "gid_index": %s}' "${indexes[i]:-null}"
	done
	printf ']}\n'
}

# results RUN DEVICES NETDEVS ADDRESSES GID-INDEXES: a word per link each; "-" for an address that there is not
results() {
	local addresses=$4
	[ -z "$JSON" ] || results_json "$@"
	[ "$addresses" != - ] || addresses=''
	result mode "$MODE"
	result run "$1"
	result device "${2%% *}"
	result devices "$2"
	result netdev "${3%% *}"
	result netdevs "$3"
	result address "${addresses%% *}"
	result addresses "$addresses"
	result gid-index "${5%% *}"
	result gid-indexes "$5"
}
