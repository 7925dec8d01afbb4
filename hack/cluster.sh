#!/usr/bin/env bash
# Installs and removes the operator in the cluster of the user's current context, with the user's own kubectl where there is one.
#
# Removing starts with the custom resources, while the operator can still run their finalizers: one that goes after the
# operator is stuck in Terminating for ever (operator-sdk#3967).
set -euo pipefail
cd "$(dirname "$0")/.."

timeout=${TIMEOUT:-120}
kinds=memcacheds.cache.example.com,myapps.app.example.com
namespace=memcached-operator-system

fail() {
	echo "$command: $1" >&2
	exit 1
}

kubectl() {
	if [[ -z ${kubectl:-} ]]; then
		kubectl=$(type -P kubectl || go run ./harness/cmd/binaries kubectl | cut -d' ' -f2-)
	fi
	"$kubectl" "$@"
}

# installed_kinds prints those of the operator's kinds that the cluster serves, separated by commas.
installed_kinds() {
	kubectl get crds -o name "$@" | sed -n 's#^customresourcedefinition.apiextensions.k8s.io/##p' |
		grep -xF "${kinds//,/$'\n'}" | paste -sd, || true
}

# delete_resources deletes the custom resources of all namespaces and waits until they are gone.
delete_resources() {
	local served left count previous="" start=$SECONDS
	served=$(installed_kinds)
	[[ -n $served ]] || return 0
	kubectl delete "$served" --all --all-namespaces --wait=false >/dev/null
	while true; do
		left=$(kubectl get "$served" --all-namespaces --ignore-not-found --no-headers \
			-o custom-columns=:.kind,:.metadata.namespace,:.metadata.name)
		[[ -n $left ]] || break
		count=$(wc -l <<<"$left")
		if ((SECONDS - start >= timeout)); then
			echo "$left" >&2
			fail "after $timeout s these $count custom resources still wait for their finalizers; nothing else was removed.
Is the operator running? See: kubectl -n $namespace get pods; kubectl -n $namespace logs deploy/memcached-operator-controller-manager
Then try again, or give it longer with TIMEOUT=<seconds>."
		fi
		[[ $count == "$previous" ]] || echo "waiting for $count custom resources to go ($((SECONDS - start)) s of $timeout)"
		previous=$count
		sleep 1
	done
	echo "all custom resources are gone ($((SECONDS - start)) s)"
}

deploy() {
	mkdir -p out/deploy
	cat >out/deploy/kustomization.yaml <<-YAML
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		resources:
		- ../../config/default
		patches:
		- target:
		    kind: Deployment
		    name: memcached-operator-controller-manager
		  patch: |
		    - op: replace
		      path: /spec/template/spec/containers/0/image
		      value: "$IMG"
	YAML
	kubectl apply -k out/deploy
	kubectl -n "$namespace" rollout status deployment/memcached-operator-controller-manager --timeout="${timeout}s" ||
		fail "the operator with image $IMG did not come up. See: kubectl -n $namespace describe pods"
}

command=${1:-}
context=$(kubectl config current-context 2>/dev/null) || fail "there is no current context: set KUBECONFIG, or try the operator without a cluster by make demo"
echo "$command: context $context"
case $command in
install) kubectl apply -k config/crd ;;
deploy) deploy ;;
uninstall)
	delete_resources
	kubectl delete --ignore-not-found -k config/crd --timeout="${timeout}s"
	;;
undeploy)
	delete_resources
	kubectl delete --ignore-not-found -k config/default --timeout="${timeout}s"
	;;
*) fail "want install, uninstall, deploy or undeploy" ;;
esac
