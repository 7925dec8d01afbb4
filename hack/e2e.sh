#!/usr/bin/env bash
# Runs the end-to-end features on a cluster of the level LEVEL. See make help for the variables.
#
# The cluster belongs to a process of its own, which runs the tests: whatever ends them, it deletes the cluster.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${LEVEL:-kind}
name=${E2E_CLUSTER:-memcached-operator-e2e}
export E2E_OUT=$PWD/out/e2e
run=(bin/cluster run --level "$level" --name "$name" --logs "$E2E_OUT/cluster-logs")

fail() {
	echo "e2e: $1" >&2
	exit 1
}

# summary prints what the tests say as a whole, such as the times of the features, of which gotestsum shows nothing.
summary() {
	sed -n '/"Action":"output"/ { /"Test":/d; s/.*"Output":"\(.*\)\\n"}$/\1/p; }' "$GOTESTSUM_JSONFILE" |
		grep -vE '^(PASS|FAIL|ok)' || true
}

# load makes the images and has the cluster load them, and tells the tests their names: the line "probe-v1 probe:abc path"
# becomes E2E_PROBE_V1_IMAGE=probe:abc.
load() {
	local name ref archive made variable
	made=$(make images) # Alone, so that its failure is one.
	while read -r name ref archive; do
		variable=E2E_$(tr a-z- A-Z_ <<<"$name")_IMAGE
		export "$variable=$ref"
		run+=(--load "$archive")
	done <<<"$made"
	export E2E_OPERATOR_IMAGE=$E2E_MEMCACHED_OPERATOR_IMAGE E2E_PROBE_IMAGE=$E2E_PROBE_V1_IMAGE
}

[[ ${1:-} != summary ]] || { summary; exit; }

case ${KEEP:-} in
'' | 0 | false) ;;
1 | true | always) run+=(--keep always) ;;
on-failure) run+=(--keep on-failure) ;;
*) fail "KEEP is $KEEP: want 1, on-failure or nothing" ;;
esac

case $level in
kind)
	run+=(--config kind-config.yaml ${NODE_IMAGE:+--node-image "$NODE_IMAGE"})
	;;
kwok) ;;
existing)
	[[ -n ${E2E_CONTEXT:-} ]] || fail "LEVEL=existing changes a cluster that is yours: name its context in E2E_CONTEXT"
	kubeconfig=${KUBECONFIG:-$HOME/.kube/config}
	[[ $kubeconfig != *:* ]] || fail "KUBECONFIG names several files: name the one that has the context $E2E_CONTEXT"
	run+=(--kubeconfig "$kubeconfig" --context "$E2E_CONTEXT")
	export E2E_OPERATOR_IMAGE=${E2E_OPERATOR_IMAGE:-$IMG}
	;;
*) fail "there is no LEVEL=$level: want kind, kwok or existing" ;;
esac

rm -rf "$E2E_OUT"
mkdir -p "$E2E_OUT" "$JUNIT"
go build -o bin/cluster ./harness/cmd/cluster
if [[ $level == kind ]]; then
	bin/cluster check "${run[@]:2}"
	load
fi
exec "${run[@]}" -- $GOTESTSUM --format testname --junitfile "$JUNIT/e2e-$level.xml" --jsonfile "$E2E_OUT/tests.json" \
	--post-run-command "hack/e2e.sh summary" -- -count 1 -timeout 30m -parallel "${PARALLEL:-4}" ${FEATURE:+-run "//${FEATURE// /_}"} ./test/e2e
