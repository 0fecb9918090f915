# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Jobs of several kinds side by side, the longest first. A job is a list of words. The first word, up to a "-", is its
# kind: make, qemu, uml, host.

# Jobs that can start, the longest first: "SECONDS WORD..."
QUEUE=()

# job_list BED WEEK: the jobs of a bed's tests, "NODES BOOT NAME LIMIT COST" on standard input: "SECONDS BED NODES BOOT". Jobs
# of the rota come after all others. Each week another one of them is first, since the last ones may not be begun in time
job_list() {
	awk '{ cost[$1 " " $2] += $5 } END { for (job in cost) print cost[job], job }' | LC_ALL=C sort -k1nr -k2 |
		awk -v bed="$1" -v week="$2" '
			!/[ .]rota/ { print $1 + 100000, bed, $2, $3; next }
			{ rota[n++] = $2 " " $3 }
			END { for (i = 0; i < n; i++) print int(90000 * (n - (i + week) % n) / n), bed, rota[i] }'
}

# The sum of jobs that may run at a time. A job counts 1: a guest of UML leaves a third of its processor to others. An
# emulated guest counts 2: it has two processors, which also work while they wait for each other. Jobs on the host test
# the beds, with their own emulated guests.
ROOM=$(($(nproc) < 2 ? 1 : $(nproc) * 3 / 2))

# Add the lines of standard input
enqueue() {
	mapfile -t QUEUE < <({ printf '%s\n' ${QUEUE[@]+"${QUEUE[@]}"} && cat; } | grep . | sort -k1nr,1 -s)
}

# next_job KIND...: print the index of the job to start while jobs of these kinds run; nothing if there is no room. It
# is the longest job that has room, so that no long job runs alone at the end; a job of a kind that is not running yet
# is preferred
next_job() {
	local kind used=0 other='' i
	for kind in "$@"; do used=$((used + $(size_of "$kind"))); done
	for i in "${!QUEUE[@]}"; do
		kind=$(kind_of "${QUEUE[i]#* }")
		[ $((used + $(size_of "$kind"))) -le "$ROOM" ] || [ "$used" = 0 ] || continue
		if [[ " $* " != *" $kind "* ]]; then
			echo "$i"
			return
		fi
		other=${other:-$i}
	done
	echo "$other"
}

size_of() {
	case $1 in
	qemu | host) echo 2 ;;
	*) echo 1 ;;
	esac
}

kind_of() { echo "${1%%[- ]*}"; }

# run_queue START DONE: run jobs until the queue is empty and all have ended. "START WORD..." starts a job in the
# background and sets job to its process. "DONE STATUS WORD..." is called when it has ended; both may add to the queue
run_queue() {
	local job status next words
	local -A running=() kinds=()
	while :; do
		next=$(next_job ${kinds[@]+"${kinds[@]}"})
		if [ "$next" ]; then
			words=${QUEUE[next]#* }
			QUEUE=("${QUEUE[@]:0:next}" "${QUEUE[@]:next + 1}")
			# shellcheck disable=SC2086 # words are meant
			"$1" $words
			running[$job]=$words
			kinds[$job]=$(kind_of "$words")
			continue
		fi
		[ "${#running[@]}" != 0 ] || return 0
		status=0
		wait -n -p job "${!running[@]}" || status=$?
		words=${running[$job]}
		unset "running[$job]" "kinds[$job]"
		# shellcheck disable=SC2086 # words are meant
		"$2" "$status" $words
	done
}
