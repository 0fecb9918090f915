#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A 32-bit process sees the same layouts as a 64-bit kernel: each field of kernel/uapi/softmr-abi.h has one offset and
# one size for both.
# timeout: 30
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# questions HEADER: print a C file from which the compiler makes "struct.field offset size" for all fields
questions() {
	python3 - "$1" <<-'END'
		import re, sys

		def fields(body, prefix=""):
		    """The fields of a struct's body, those of its parts by their path."""
		    while body:
		        part = re.match(r"\s*(?:struct|union)\s*\{", body)
		        if part:
		            depth, end = 1, part.end()
		            while depth:
		                depth += {"{": 1, "}": -1}.get(body[end], 0)
		                end += 1
		            name = re.match(r"\s*(\w*)\s*;", body[end:])
		            inner = prefix + name[1] + "." if name[1] else prefix
		            yield from fields(body[part.end():end - 1], inner)
		            if name[1]:
		                yield prefix + name[1], True
		            body = body[end + name.end():]
		            continue
		        field = re.match(r"[^;]*?(\w+)(\[\w*\])?\s*;\s*", body)
		        if not field:
		            break
		        yield prefix + field[1], field[2] != "[]"
		        body = body[field.end():]

		text = re.sub(r"/\*.*?\*/", "", open(sys.argv[1]).read(), flags=re.S)
		print(f'#include <stddef.h>\n#include "{sys.argv[1]}"')
		print('#define SAY(text, value) __asm__ volatile("@ " text " %c0" : : "i"(value))\nvoid layout(void);\nvoid layout(void)\n{')
		for struct in re.finditer(r"^struct (\w+) \{(.*?)^\};", text, re.S | re.M):
		    name = struct[1]
		    print(f'\tSAY("{name} size", sizeof(struct {name}));')
		    for field, sized in fields(struct[2]):
		        print(f'\tSAY("{name}.{field} offset", offsetof(struct {name}, {field}));')
		        if sized:
		            print(f'\tSAY("{name}.{field} size", sizeof(((struct {name} *)0)->{field}));')
		print("}")
	END
}

# layout HEADER BITS: a line for each field. The headers of the 64-bit libc suffice, because no function is declared
layout() {
	questions "$1" >"$WORK/q.c" || return
	gcc "-m$2" -ffreestanding -S -o - -isystem "/usr/include/$(gcc -dumpmachine)" "$WORK/q.c" | sed -n 's/^[[:space:]]*@ //p'
}

same() {
	layout "$1" 64 >"$WORK/64" && layout "$1" 32 >"$WORK/32" && [ -s "$WORK/64" ] && diff "$WORK/64" "$WORK/32"
}

differs() { ! same "$1" && [ -s "$WORK/32" ]; }

echo "TAP version 13"
HEADER=$TOP/kernel/uapi/softmr-abi.h
same "$HEADER" >"$WORK/out" 2>&1
report $? "each field has the same place and size for 32 and 64 bits"
{ echo "$(wc -l <"$WORK/64") facts" && [ "$(wc -l <"$WORK/64")" -gt 150 ] && grep -q '^smr_send_wqe.bind_mw.access offset 52$' "$WORK/64"; } >"$WORK/out" 2>&1
report $? "all fields were looked at"
sed 's/__aligned_u64 wr_id/__u64 wr_id/; s/__u32 prod/unsigned long prod/' "$HEADER" >"$WORK/long.h"
differs "$WORK/long.h" >"$WORK/out" 2>&1
report $? "a long would be found"
sed '/^struct smr_dm_info {/,/^}/s/__aligned_u64 mmap_offset/__u32 first; __u64 mmap_offset/' "$HEADER" >"$WORK/hole.h"
differs "$WORK/hole.h" >"$WORK/out" 2>&1
report $? "a number of 64 bits that is not aligned would be found"
finish
