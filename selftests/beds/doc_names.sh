#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The names on the pages of Documentation are in the code, and scripts/doc-names notices a name that is not.
# timeout: 60
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# tree LINE: a tree of one page with that line, and of code that has smr_there(), helper() and SMR_THERE
tree() {
	rm -rf "$WORK/tree"
	mkdir -p "$WORK/tree"/{Documentation,kernel,userspace,selftests}
	cat >"$WORK/tree/kernel/there.c" <<-END
		/* smr_in_comment() and smr_called() are elsewhere */
		TRACE_EVENT(smr_traced,
		enum smr_kind { SMR_ZERO, /* the first */ SMR_ONE, };
		struct smr_there_struct *smr_there(int a)
		{
		    smr_called(SMR_THERE);
		}
	END
	echo "$1" >"$WORK/tree/Documentation/${2:-page}.rst"
}

# accepted LINE [PAGE]
accepted() {
	tree "$@"
	"$TOP/scripts/doc-names" "$WORK/tree" >"$WORK/out" 2>&1
	report $? "accepted: $1"
}

# refused LINE NAME [PAGE]
refused() {
	local status=0
	tree "$1" "${3:-page}"
	"$TOP/scripts/doc-names" "$WORK/tree" >"$WORK/out" 2>&1 || status=$?
	[ "$status" = 1 ] && grep -qF "$2" "$WORK/out"
	report $? "refused: $1"
}

echo "TAP version 13"
"$TOP/scripts/doc-names" "$TOP" >"$WORK/out" 2>&1
report $? "pages and code agree"
accepted "smr_there() with struct smr_there_struct and SMR_THERE"
accepted "trace_smr_traced() is the tracepoint smr_traced"
accepted "a_function() of somebody else's"
accepted "\`\`SMR_ONE\`\`  1  its value"
accepted "ibv_post_send() and smr_there()" life-of-a-message
refused "smr_gone()" "no function smr_gone()"
refused "smr_called() is only called" "no function smr_called()"
refused "smr_in_comment()" "no function smr_in_comment()"
refused "trace_smr_gone()" "no function trace_smr_gone()"
refused "struct smr_gone_struct" "nothing is called smr_gone_struct"
refused "SMR_GONE" "nothing is called SMR_GONE"
refused "\`\`SMR_ONE\`\`  2  another value" "SMR_ONE is 1, not 2"
refused "a_function() that the code does not call" "no function a_function()" life-of-a-message
finish
