#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ci/kubernetes: the manifests fit together, and a guest that acts as the node has what they refer to.
# needs: uml-plain
# timeout: 900
# shellcheck disable=SC2317 # functions are called through check
set -uo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/../../scripts/lib/all.sh"
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"

# Names in one file that another file refers to
consistent() {
	python3 - "$TOP/ci/kubernetes" <<-'EOF'
		import json, os, re, sys

		where = sys.argv[1]
		text = {name: open(os.path.join(where, name)).read() for name in os.listdir(where)
		        if os.path.isfile(os.path.join(where, name))}
		config = json.loads(text["config.json"])
		[offer] = config["configList"]
		resource = offer["resourcePrefix"] + "/" + offer["resourceName"]
		assert re.fullmatch(r"\w+", offer["resourceName"]), "the plugin refuses such a name"
		assert resource + ": 1" in text["pingpong.yaml"], "the pod asks for something else than " + resource
		for name in re.findall(r"^      - ([\w.-]+)$", text["kustomization.yaml"], re.M):
		    assert name in text, "kustomization.yaml names " + name
		for name in re.findall(r"/config/([\w.-]+)", text["device-plugin.yaml"]):
		    assert name in text, "device-plugin.yaml runs " + name
		plugin = text["device-plugin.yaml"]
		mounts = set(re.findall(r"^            - name: ([\w-]+)$", plugin, re.M))
		volumes = plugin[plugin.index("\n      volumes:"):]
		have = set(re.findall(r"^        - name: ([\w-]+)$", volumes, re.M))
		assert mounts == have, "mounted and not there, or there and not mounted: %s" % (mounts ^ have)
	EOF
}

# What runs on each node must not change by itself: images are of a release, and what is privileged is named by its digest
pinned() {
	! grep -hE '^ *image:' "$TOP"/ci/kubernetes/*.yaml | grep -vE ':(v?[0-9]+(\.[0-9]+)+(@sha256:[0-9a-f]{64})?|local)$' &&
		! grep -B2 'privileged: true' "$TOP/ci/kubernetes/device-plugin.yaml" | grep 'image:' | grep -vE '@sha256:[0-9a-f]{64}$'
}

# The workflow, the action and the manifests are YAML; not checked without PyYAML
well_formed() {
	python3 - "$TOP"/.github/workflows/*.yml "$TOP"/ci/*/*.yml "$TOP"/ci/kubernetes/*.yaml <<-'EOF'
		import sys, yaml

		for name in sys.argv[1:]:
		    for document in yaml.safe_load_all(open(name)):
		        assert isinstance(document, dict), name
	EOF
}

check "the manifests fit together" consistent
check "images are pinned" pinned
if python3 -c 'import yaml' 2>/dev/null; then
	check "workflow, action and manifests can be read" well_formed
else
	skip "workflow, action and manifests can be read" "there is no python3-yaml"
fi
status=0
"$TOP/scripts/uml-boot.sh" --flavour plain --cpus 1 --timeout 200 --share "$TOP" \
	/mnt/share/selftests/lib/kubernetes_node.sh >"$WORK/node" 2>"$WORK/boot" || status=$?
tap_include "$WORK/node"
check "the node's tests came to their end" grep '^1\.\.' "$WORK/node"
[ "$status" -le 1 ] || sed 's/^/# /' "$WORK/boot"
check "the guest ended well (status $status)" [ "$status" -le 1 ]
finish
