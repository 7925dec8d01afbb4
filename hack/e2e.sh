#!/usr/bin/env bash
# Runs the end-to-end features on a cluster of the level LEVEL. See make help for the variables.
#
# The cluster belongs to a process of its own, which runs the tests: whatever ends them, it deletes the cluster.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${LEVEL:-kind}
name=${E2E_CLUSTER:-memcached-operator-e2e}
export E2E_OUT=$PWD/out/e2e
flags=(--level "$level" --name "$name")

fail() {
	echo "e2e: $1" >&2
	exit 1
}

# load makes the images and has the cluster load them, and tells the tests their names: the line "probe-v1 probe:abc path"
# becomes E2E_PROBE_V1_IMAGE=probe:abc.
load() {
	local name ref archive made variable
	made=$(make images) # Alone, so that its failure is one.
	while read -r name ref archive; do
		variable=E2E_$(tr a-z- A-Z_ <<<"$name")_IMAGE
		export "$variable=$ref"
		flags+=(--load "$archive")
	done <<<"$made"
	export E2E_OPERATOR_IMAGE=$E2E_MEMCACHED_OPERATOR_IMAGE E2E_PROBE_IMAGE=$E2E_PROBE_V1_IMAGE
}

case ${KEEP:-} in
'' | 0 | false) ;;
1 | true | always) flags+=(--keep always) ;;
on-failure) flags+=(--keep on-failure) ;;
*) fail "KEEP is $KEEP: want 1, on-failure or nothing" ;;
esac

case $level in
kind)
	PARALLEL=${PARALLEL:-4} # Containers are work; elsewhere features mostly wait.
	flags+=(--config kind-config.yaml ${NODE_IMAGE:+--node-image "$NODE_IMAGE"})
	;;
kwok) ;;
existing)
	[[ -n ${E2E_CONTEXT:-} ]] || fail "LEVEL=existing changes a cluster that is yours: name its context in E2E_CONTEXT"
	kubeconfig=${KUBECONFIG:-$HOME/.kube/config}
	[[ $kubeconfig != *:* ]] || fail "KUBECONFIG names several files: name the one that has the context $E2E_CONTEXT"
	flags+=(--kubeconfig "$kubeconfig" --context "$E2E_CONTEXT")
	export E2E_OPERATOR_IMAGE=${E2E_OPERATOR_IMAGE:-$IMG}
	;;
*) fail "there is no LEVEL=$level: want kind, kwok or existing" ;;
esac

rm -rf "$E2E_OUT"
mkdir -p "$E2E_OUT" "$JUNIT"
go build -o bin/cluster ./harness/cmd/cluster
if [[ $level == kind ]]; then
	bin/cluster check "${flags[@]}" # Before minutes are spent on images.
	load
fi
exec bin/cluster run "${flags[@]}" --logs "$E2E_OUT/cluster-logs" -- \
	$GOTESTSUM --format testname --junitfile "$JUNIT/e2e-$level.xml" -- \
	-count 1 -timeout 30m ${PARALLEL:+-parallel "$PARALLEL"} ${FEATURE:+-run "//${FEATURE// /_}"} ./test/e2e
