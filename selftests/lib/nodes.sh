# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Tests on two nodes. The script runs on both: node 1 tests and prints TAP; the others are agents, which run what node 1
# posts in their directory of /mnt/share.

SHARE=${SHARE:-/mnt/share}
AGENTS=${0##*/}
AGENTS=$SHARE/agents.${AGENTS%.sh}

# agent_main: the agent's loop, until it is told to quit
agent_main() {
	local dir next=0
	mkdir -p "$AGENTS"
	dir=$(mktemp -d "$AGENTS/dir.XXXXXX")
	on_exit rm -rf "$dir" "$AGENTS/node$NODE"
	echo "$dir" >"$AGENTS/new$NODE"
	mv "$AGENTS/new$NODE" "$AGENTS/node$NODE"
	until [ -e "$dir/quit" ]; do
		if [ -e "$dir/post$((next + 1))" ]; then
			next=$((next + 1))
			# shellcheck source=/dev/null
			. "$dir/post$next" &
		else
			nap 0.03
		fi
	done
	tap_done 0
}

# agent_post AGENT COMMAND...: the agent runs COMMAND in the background
agent_post() {
	local agent=$1
	shift
	POSTS=$((${POSTS-0} + 1))
	printf '%q ' "$@" >"$agent/post.new"
	mv "$agent/post.new" "$agent/post$POSTS"
}

agent_answers() {
	local dir
	dir=$(cat "$AGENTS/node$1" 2>/dev/null) && [ -d "$dir" ] || return
	AGENT=$dir
	POSTS=0
	agent_post "$dir" touch "$dir/here"
	within 3 test -e "$dir/here"
}

# agent_find NODE: wait for the agent of that node. Sets AGENT. A directory that an earlier run left behind does not
# answer.
agent_find() {
	within 60 agent_answers "$1" || { echo "node $1 does not answer"; return 1; }
	on_exit touch "$AGENT/quit"
}
