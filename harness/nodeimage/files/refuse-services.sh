#!/bin/sh
# Keeps what pods send to Services inside the cluster until kube-proxy knows them. It would leave the cluster, where nobody or a
# stranger answers, and a client that began before kube-proxy, as CoreDNS does, would wait for half a minute until it tries again.
set -eu
subnets=$(sed -n 's/^ *serviceSubnet: *//p' "${1:-/kind/kubeadm.conf}" | tr -d '"' | tr ',' ' ')
for subnet in $subnets; do
	case $subnet in
	*:*) family=-6 ;;
	*) family=-4 ;;
	esac
	ip $family rule show | grep -qF "to $subnet " && continue
	# What kube-proxy knows has another destination when it is routed, unless it comes from the node itself.
	ip $family rule add priority 30000 iif lo to "$subnet" lookup main
	ip $family rule add priority 30001 to "$subnet" unreachable
done
