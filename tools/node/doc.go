// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command kube-node runs a real one-node Kubernetes for tests: etcd, API server, controller manager, scheduler, kubelet,
// kube-proxy and CoreDNS in one program, and the containerd, runc and CNI plugins of Debian.
//
//	kube-node up DIR      starts the node and waits until it is Ready; DIR/admin.kubeconfig is the way in
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
// The packet filter's KUBE-* and CNI-* chains say nothing about their owner. So up refuses a machine that has some, and down
// removes them only if up has run in DIR. It signals only processes that up started in this boot of the machine.
//
// It needs root, Linux with cgroups, and the packages that tools/ensure-node installs.
package main
