// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command local-machines is a small cloud on this machine: networks, and machines that are namespaces of the kernel and
// run what their cloud-config says. The modules of examples/platform/modules/local use it through the provider in
// test/machines/provider, so that a platform in a test becomes a real Kubernetes with real Pods.
//
//	local-machines serve DIR --kube-node PROGRAM [--listen 127.0.0.1:0] [--images DIR]
//	              serves the API until it gets SIGTERM; DIR/endpoint and DIR/token are the way in
//	local-machines console DIR NAME
//	              prints what a machine printed
//	local-machines clean DIR
//	              removes all machines and networks of DIR, also those of a server that was killed
//
// # Why a server
//
// Runs of tofu are confined: they cannot mount, create namespaces or write outside their directories, and this is right.
// So the provider asks a server, as it would ask a cloud. The server needs root, and its API a token.
//
// # A machine
//
// A machine has its own network, process, mount and host name namespaces, and its own cgroup. It sees the programs of this
// system, and its own /etc, /usr/local, /var, /run and /tmp. Its first process reads the cloud-config, and reaps
// orphans. When it is killed, the kernel removes everything of the machine: there is nothing to clean but names.
//
// A machine has three programs of its own in /usr/local/bin: kube-node with the parts of Kubernetes (see tools/node), and
// stand-ins for k3s and systemctl, which are this program under their names. The stand-in for k3s reads the same
// config.yaml, refuses keys that k3s does not document, and gives the arguments for components to the real components. It
// differs from k3s in this: the cluster has one control plane, all machines derive the cluster's authority from
// the join token, packaged components are not there, and "flannel" is a bridge with a route to each other node.
package main
