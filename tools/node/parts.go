// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"path/filepath"
)

// The addresses and names of a node.
const (
	address        = "10.97.0.1"
	link           = "kube-node"
	apiPort        = "6443"
	etcdClients    = "127.0.0.1:12379"
	etcdPeers      = "127.0.0.1:12380"
	serviceRange   = "10.96.0.0/16"
	serviceAddress = "10.96.0.1"
	podRange       = "10.244.0.0/16"
	nodePods       = "10.244.0.0/24"
	bridge         = "kube-node-pods"
	domain         = "cluster.local"
	nodeName       = "node1"
	pauseImage     = "localhost/pause:1"
)

// part is a process of the node.
type part struct {
	name string
	// program is kube-node itself unless it is named.
	program string
	args    []string
}

// parts are the processes of a node in the order in which they start.
func parts(dir string) []part {
	pki := func(name string) string { return filepath.Join(dir, "pki", name) }
	kubeconfig := func(name string) string { return "--kubeconfig=" + pki(name+".kubeconfig") }
	return []part{
		{name: "etcd", args: []string{filepath.Join(dir, "etcd"), pki("etcd.crt"), pki("etcd.key"), pki("ca.crt")}},
		{name: "apiserver", args: []string{
			"--etcd-servers=https://" + etcdClients,
			"--etcd-cafile=" + pki("ca.crt"), "--etcd-certfile=" + pki("etcd.crt"), "--etcd-keyfile=" + pki("etcd.key"),
			"--bind-address=" + address, "--advertise-address=" + address, "--secure-port=" + apiPort,
			"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"), "--client-ca-file=" + pki("ca.crt"),
			"--requestheader-client-ca-file=" + pki("ca.crt"), "--requestheader-allowed-names=" + frontProxy,
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-uid-headers=X-Remote-Uid",
			"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
			"--service-account-key-file=" + pki("sa.key"), "--service-account-signing-key-file=" + pki("sa.key"),
			"--service-account-issuer=https://kubernetes.default.svc." + domain,
			"--service-cluster-ip-range=" + serviceRange,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--kubelet-client-certificate=" + pki("admin.crt"), "--kubelet-client-key=" + pki("admin.key"),
			"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		}},
		{name: "controller-manager", args: []string{
			kubeconfig("controller-manager"), "--bind-address=127.0.0.1", "--leader-elect=false",
			"--service-account-private-key-file=" + pki("sa.key"), "--root-ca-file=" + pki("ca.crt"),
			"--use-service-account-credentials=true",
			"--cluster-cidr=" + podRange, "--allocate-node-cidrs=true",
		}},
		{name: "scheduler", args: []string{kubeconfig("scheduler"), "--bind-address=127.0.0.1", "--leader-elect=false"}},
		{name: "containerd", program: "containerd", args: []string{"--config", filepath.Join(dir, "containerd.toml")}},
		{name: "kubelet", args: []string{
			kubeconfig("kubelet"), "--config=" + filepath.Join(dir, "kubelet.yaml"),
			"--hostname-override=" + nodeName, "--node-ip=" + address, "--root-dir=" + filepath.Join(dir, "kubelet"),
		}},
		{name: "proxy", args: []string{
			kubeconfig("proxy"), "--hostname-override=" + nodeName, "--cluster-cidr=" + podRange, "--proxy-mode=iptables",
			"--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249",
			// The limits of connection tracking are the machine's own.
			"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		}},
		{name: "dns", args: []string{"-conf", filepath.Join(dir, "Corefile"), "-quiet"}},
	}
}

// socket is containerd's.
func socket(dir string) string { return filepath.Join(dir, "containerd.sock") }

func hostPort() string { return net.JoinHostPort(address, apiPort) }
