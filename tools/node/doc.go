// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command kube-node runs a real one-node Kubernetes for tests: etcd, API server, controller manager, scheduler, kubelet,
// kube-proxy and CoreDNS in one program, and the containerd, runc and CNI plugins of Debian.
//
//	kube-node up DIR      starts the node unless it runs, and waits until it is Ready; DIR/admin.kubeconfig is the way in
//	kube-node down DIR    stops the node and its Pods and removes its network; DIR keeps the logs
//	kube-node kill DIR PART
//	kube-node start DIR PART    ends a part of a node without warning, and starts it again
//	kube-node image DIR NAME PROGRAM
//	                      gives the node an image NAME of a static program, which is its entry point
//
// Each part is a process of its own, "kube-node PART ARG…" with a log DIR/PART.log.
// Parts listen on 127.0.0.1 and on an address of a bridge interface, 10.97.0.1, which Pods reach and other machines do
// not. All of them demand certificates. A machine can run one node at a time.
//
// # Killed nodes
//
// up first removes what a killed node left, of whichever directory it was: Pods, mounts, network. If the directory's own
// node works, up only waits for it; if it is half alive, up ends it and starts anew. While a node of another directory
// lives, up refuses.
//
// The interface kube-node is the claim to the machine's network, and its alias names the directory. The packet filter's KUBE-*
// and CNI-* chains and the network namespaces cni-* say nothing about their owner. So up refuses a machine that has such
// chains and not the interface, and down removes them only if the interface names its directory. The interface is the
// first to come and the last to go. Signals only go to processes that up started in this boot of the machine, and to shims of
// the directory's containerd.
//
// It needs root, Linux with cgroups, and the packages that tools/ensure-node installs.
package main
