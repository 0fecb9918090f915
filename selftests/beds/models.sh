#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/models notices each way in which a model says that it can be broken: a barrier less, a look less, an event
# that is forgotten. "make lint" checks the models as they are.
# timeout: 300
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

command -v spin >/dev/null || skip_all "no spin; make lint installs it"

echo "TAP version 13"
while read -r model name; do
	status=0
	"$TOP/scripts/models" --break "$name" "$TOP" "$model" >"$WORK/out" 2>&1 || status=$?
	# one line, from the search: that a tool refuses the model is another thing
	[ "$status" = 1 ] && [ "$(wc -l <"$WORK/out")" = 1 ] &&
		grep -qE ': (assertion violated .*|acceptance cycle|invalid end state)$' "$WORK/out"
	report $? "$model: $name"
done < <("$TOP/scripts/models" --breaks "$TOP")
with_breaks() { "$TOP/scripts/models" --breaks "$TOP" | cut -d ' ' -f 1 | sort -u; }
check "each model has breaks" diff <(with_breaks) <(cd "$TOP/models" && printf '%s\n' *.pml | sed 's/\.pml$//' | sort)

# A search that did not see everything is not a success
mkdir -p "$WORK/tree/models"
cp "$TOP"/models/*.h "$WORK/tree/models"
sed '/RUN handed/s/-DOPS0=3/-DOPS0=(/; / RUN handed/!{/ RUN /d}' "$TOP/models/inbox.pml" >"$WORK/tree/models/inbox.pml"
check_error "a model that does not compile" "run handed, safety: spin refuses it" "$TOP/scripts/models" "$WORK/tree" inbox

# A function that changes after it was compared with its model

cp -r "$TOP"/models/{code,*.pml} "$WORK/tree/models"
cp -r "$TOP/kernel" "$TOP/userspace" "$WORK/tree"
check "the models are of the code as it is" "$TOP/scripts/models" --code "$WORK/tree"
# On x86 no test would notice a barrier less in ref.c
while read -r function barrier; do
	cp "$TOP/kernel/ref.c" "$WORK/tree/kernel/ref.c"
	sed -i "/^[a-z].*\b$function(/,/^}/s/\b$barrier();//" "$WORK/tree/kernel/ref.c"
	check_error "$function() without $barrier() is to be compared with its model" "ref.pml: $function.. of kernel/ref.c has changed: " \
		"$TOP/scripts/models" --code "$WORK/tree"
done <<-'END'
	smr_ref_reinit smp_wmb
	ref_tell smp_mb
	ref_drained smp_acquire__after_ctrl_dep
	smr_ref_tryget smp_mb__after_atomic
END
check "... which is noted" "$TOP/scripts/models" --update "$WORK/tree" ref
check "... and it is right again" "$TOP/scripts/models" --code "$WORK/tree"
sed -i 's,/\* Pairs with smr_ref_reinit(). \*/,/* Another comment */,' "$WORK/tree/kernel/ref.c"
check "a comment is no code" "$TOP/scripts/models" --code "$WORK/tree"
sed -i 's/smr_ref_put()/smr_ref_lost()/' "$WORK/tree/models/ref.pml"
check_error "a model of what is not there" 'not there: smr_ref_lost' "$TOP/scripts/models" --code "$WORK/tree"
finish
