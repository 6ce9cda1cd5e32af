// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// writeFiles writes the node's certificates and configuration.
func (n node) writeFiles(ca authority) error {
	api := "https://" + n.control + ":6443"
	if err := ca.issue("kubelet", "system:node:"+n.NodeName, "system:nodes", api, n.NodeName, n.NodeIP); err != nil {
		return err
	}
	if err := ca.issue("proxy", "system:kube-proxy", "", api); err != nil {
		return err
	}
	if n.server {
		if err := n.issueControlPlane(ca, api); err != nil {
			return err
		}
	}
	for _, dir := range []string{"cni", "pod-logs"} {
		if err := os.MkdirAll(filepath.Join(dataDir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"containerd.toml": fmt.Sprintf(containerdConfig, dataDir, socket, pauseImage, dataDir),
		"kubelet.yaml":    fmt.Sprintf(kubeletConfig, n.NodeIP, ca.file("ca.crt"), ca.file("kubelet.crt"), ca.file("kubelet.key"), socket, n.control, domain, os.Getenv("MACHINE_CGROUP"), dataDir),
		"Corefile":        fmt.Sprintf(corefile, n.NodeIP, domain, ca.file("admin.kubeconfig")),
	} {
		if err := writeWhole(filepath.Join(dataDir, name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

func (n node) issueControlPlane(ca authority, api string) error {
	hosts := append([]string{n.NodeIP, "127.0.0.1", n.service, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc." + domain}, n.TLSSANs...)
	if _, err := newKey(ca.file("sa.key")); err != nil {
		return err
	}
	for _, c := range []struct {
		file, name, group string
		hosts             []string
	}{
		{"etcd", "etcd", "", []string{"127.0.0.1"}},
		{"apiserver", "kube-apiserver", "", hosts},
		{"admin", "system:admin", "system:masters", nil},
		{"controller-manager", "system:kube-controller-manager", "", nil},
		{"scheduler", "system:kube-scheduler", "", nil},
		{frontProxy, frontProxy, "", nil},
	} {
		if err := ca.issue(c.file, c.name, c.group, api, c.hosts...); err != nil {
			return err
		}
	}
	return nil
}

const containerdConfig = `version = 2
root = "%[1]s/containerd"
state = "/run/k3s/containerd"
[grpc]
  address = "%[2]s"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[3]s"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "%[4]s/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %s}
authorization: {mode: Webhook}
tlsCertFile: %s
tlsPrivateKeyFile: %s
containerRuntimeEndpoint: unix://%s
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
clusterDNS: ["%s"]
clusterDomain: %s
cgroupRoot: %s
podLogsDir: %s/pod-logs
evictionHard: {nodefs.available: "1%%", imagefs.available: "1%%"}
imageGCHighThresholdPercent: 100
`

const corefile = `.:53 {
	bind %s
	errors
	kubernetes %s in-addr.arpa {
		kubeconfig %s
	}
}
`

// keepNetwork configures the bridge of the node's Pods when the cluster has given it a range, and keeps a route to
// the Pods of each other node, as flannel's host-gw does.
func (n node) keepNetwork(ctx context.Context, ca authority) {
	for ctx.Err() == nil {
		if err := n.syncNetwork(ctx, ca); err != nil {
			fmt.Fprintln(os.Stdout, "k3s: network of Pods:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

func (n node) syncNetwork(ctx context.Context, ca authority) error {
	// The identity of kube-proxy may list nodes; a kubelet may only read its own.
	out, err := exec.CommandContext(ctx, "kubectl", "--kubeconfig", ca.file("proxy.kubeconfig"), "get", "nodes", "--output=json").Output()
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ PodCIDR string }
			Status   struct {
				Addresses []struct{ Type, Address string }
			}
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return err
	}
	for _, other := range list.Items {
		if other.Spec.PodCIDR == "" {
			continue
		}
		if other.Metadata.Name == n.NodeName {
			if err := writeCNI(other.Spec.PodCIDR); err != nil {
				return err
			}
			continue
		}
		for _, a := range other.Status.Addresses {
			if a.Type != "InternalIP" {
				continue
			}
			if err := ip(ctx, "route", "replace", other.Spec.PodCIDR, "via", a.Address); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeCNI(pods string) error {
	path := filepath.Join(dataDir, "cni", "10-pods.conflist")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return writeWhole(path, fmt.Appendf(nil, `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
      "ipam": {"type": "host-local", "dataDir": "%s/cni-leases", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, dataDir, pods))
}
