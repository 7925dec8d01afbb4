#!/bin/sh
# Refuses connections to Services that kube-proxy does not know yet. They would leave the cluster and never be answered, and a
# client that began before kube-proxy, as CoreDNS does, would wait for half a minute until it tries again.
set -eu
subnets=$(sed -n 's/^ *serviceSubnet: *//p' "${1:-/kind/kubeadm.conf}" | tr -d '"' | tr ',' ' ')
for subnet in $subnets; do
	case $subnet in
	*:*) iptables=ip6tables ;;
	*) iptables=iptables ;;
	esac
	# What kube-proxy knows has another destination by now.
	$iptables -w -C FORWARD -d "$subnet" -j REJECT 2>/dev/null || $iptables -w -A FORWARD -d "$subnet" -j REJECT
done
