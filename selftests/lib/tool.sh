# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The output of softmr (userspace/tools/softmr), as JSON.

not() { ! "$@"; }

# json KEYS COMMAND...: print a value of the JSON that COMMAND prints, which must be valid. For a list a key is a number
# or the name of an element: "links/softmr0/gids/0/address", "findings/port/level"
json() {
	local keys=$1
	shift
	"$@" | python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("/"):
    if isinstance(value, list) and not key.isdigit():
        value = next(v for v in value if key in (v.get("check"), v.get("name"), v.get("address")))
    elif isinstance(value, list):
        value = value[int(key)]
    else:
        value = value[key]
print(value if isinstance(value, str) else json.dumps(value))' "$keys"
}

# json_keys COMMAND...: print the sorted keys of the JSON that COMMAND prints; of its first element if it is a list
json_keys() {
	"$@" | python3 -c '
import json, sys
value = json.load(sys.stdin)
print(*sorted(value[0] if isinstance(value, list) else value))'
}

# says CHECK LEVEL TEXT COMMAND...: "COMMAND... doctor" has a finding of that check and level, and TEXT, a regular
# expression, matches its text or its advice
says() {
	"${@:4}" doctor --json | python3 -c '
import json, re, sys
check, level, text = sys.argv[1:]
found = [f for f in json.load(sys.stdin)["findings"] if f["check"] == check]
print(json.dumps(found, indent=1))
sys.exit(not any(f["level"] == level and re.search(text, "%s; %s" % (f["what"], f["todo"])) for f in found))' \
		"$1" "$2" "$3"
}

# make_busy: compile $WORK/busy (examples/busy.c). "busy DEVICE GID_INDEX" is refused to deregister a region of its own
make_busy() { make -s -C "$LIB/../guides/examples" O="$WORK" "$WORK/busy"; }
