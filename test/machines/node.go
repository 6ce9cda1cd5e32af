// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	dataDir = "/var/lib/rancher/k3s"
	socket  = "/run/k3s/containerd.sock"
	domain  = "cluster.local"
	// imagesDir has archives of images, as k3s documents it for air gaps.
	imagesDir = dataDir + "/agent/images"
	// frontProxy is the name by which extensions of the API know its server.
	frontProxy = "front-proxy"
	pauseImage = "localhost/pause:1"
	probeImage = "localhost/probe:1"
	kubeconfig = "/etc/rancher/k3s/k3s.yaml"
)

// component is a process of a node.
type component struct {
	name, program string
	args          []string
}

// run runs the node until ctx ends or a component does.
func (n node) run(ctx context.Context) error {
	ca, err := newAuthority(n.Token, filepath.Join(dataDir, "tls"))
	if err != nil {
		return err
	}
	if err := n.writeFiles(ca); err != nil {
		return err
	}
	ended := make(chan error, 8)
	running := func(c component) error { return n.start(c, ended) }
	if n.server {
		if err := n.runControlPlane(ctx, ca, running, ended); err != nil {
			return err
		}
	}
	if err := running(component{name: "containerd", program: "containerd", args: []string{"--config", filepath.Join(dataDir, "containerd.toml")}}); err != nil {
		return err
	}
	if err := n.importImages(ctx); err != nil {
		return err
	}
	for _, c := range n.agentComponents(ca) {
		if err := running(c); err != nil {
			return err
		}
	}
	if n.Flannel != "none" {
		go n.keepNetwork(ctx, ca)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

// start starts a component, and sends its end.
func (n node) start(c component, ended chan<- error) error {
	log, err := os.OpenFile(filepath.Join(dataDir, c.name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	args := c.args
	if c.program == "" {
		c.program, args = "kube-node", append([]string{c.name}, args...)
	}
	cmd := child(c.program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	// What k3s started ends with it, so that a restart finds free ports.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	go func() { ended <- fmt.Errorf("%s ended: %w; its log is %s", c.name, cmd.Wait(), log.Name()) }()
	return nil
}

// runControlPlane starts the control plane, and writes the kubeconfig when the API serves. The controllers start then, too: they give
// up on an API that takes longer than ten seconds.
func (n node) runControlPlane(ctx context.Context, ca authority, start func(component) error, ended <-chan error) error {
	for _, c := range n.controlPlane(ca) {
		if err := start(c); err != nil {
			return err
		}
		if c.name != "apiserver" {
			continue
		}
		if err := retry(ctx, ended, func() error {
			return kubectl(ctx, ca.file("admin.kubeconfig"), "get", "--raw", "/readyz")
		}); err != nil {
			return fmt.Errorf("wait for the API: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(kubeconfig), 0o700); err != nil {
		return err
	}
	return ca.writeKubeconfig(kubeconfig, "admin", "https://127.0.0.1:6443")
}

func kubectl(ctx context.Context, config string, args ...string) error {
	return command(ctx, "kubectl", append([]string{"--kubeconfig", config}, args...)...)
}

// retry calls f until it succeeds, ctx ends or a component does.
func retry(ctx context.Context, ended <-chan error, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case end := <-ended:
			return end
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (n node) controlPlane(ca authority) []component {
	config := func(name string) string { return "--kubeconfig=" + ca.file(name+".kubeconfig") }
	return []component{
		{name: "etcd", args: []string{filepath.Join(dataDir, "etcd"), ca.file("etcd.crt"), ca.file("etcd.key"), ca.file("ca.crt")}},
		{name: "apiserver", args: append([]string{
			"--etcd-servers=https://127.0.0.1:12379",
			"--etcd-cafile=" + ca.file("ca.crt"), "--etcd-certfile=" + ca.file("etcd.crt"), "--etcd-keyfile=" + ca.file("etcd.key"),
			"--bind-address=0.0.0.0", "--advertise-address=" + n.NodeIP, "--secure-port=6443",
			"--tls-cert-file=" + ca.file("apiserver.crt"), "--tls-private-key-file=" + ca.file("apiserver.key"), "--client-ca-file=" + ca.file("ca.crt"),
			"--service-account-key-file=" + ca.file("sa.key"), "--service-account-signing-key-file=" + ca.file("sa.key"),
			"--service-account-issuer=https://kubernetes.default.svc." + domain, "--service-cluster-ip-range=" + n.ServiceCIDR,
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--kubelet-client-certificate=" + ca.file("admin.crt"), "--kubelet-client-key=" + ca.file("admin.key"),
			"--requestheader-client-ca-file=" + ca.file("ca.crt"), "--requestheader-allowed-names=" + frontProxy,
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-uid-headers=X-Remote-Uid",
			"--proxy-client-cert-file=" + ca.file(frontProxy+".crt"), "--proxy-client-key-file=" + ca.file(frontProxy+".key"),
			"--kubelet-certificate-authority=" + ca.file("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		}, flags(n.APIServerArgs)...)},
		{name: "controller-manager", args: append([]string{
			config("controller-manager"), "--bind-address=127.0.0.1", "--leader-elect=false",
			"--service-account-private-key-file=" + ca.file("sa.key"), "--root-ca-file=" + ca.file("ca.crt"),
			"--use-service-account-credentials=true", "--cluster-cidr=" + n.ClusterCIDR, "--allocate-node-cidrs=true",
		}, flags(n.ManagerArgs)...)},
		{name: "scheduler", args: []string{config("scheduler"), "--bind-address=127.0.0.1", "--leader-elect=false"}},
		{name: "dns", args: []string{"-conf", filepath.Join(dataDir, "Corefile"), "-quiet"}},
	}
}

func (n node) agentComponents(ca authority) []component {
	kubelet := []string{
		"--kubeconfig=" + ca.file("kubelet.kubeconfig"), "--config=" + filepath.Join(dataDir, "kubelet.yaml"),
		"--hostname-override=" + n.NodeName, "--node-ip=" + n.NodeIP, "--root-dir=" + filepath.Join(dataDir, "kubelet"),
	}
	if len(n.NodeLabels) > 0 {
		kubelet = append(kubelet, "--node-labels="+strings.Join(n.NodeLabels, ","))
	}
	return []component{
		{name: "kubelet", args: append(kubelet, flags(n.KubeletArgs)...)},
		{name: "proxy", args: []string{
			"--kubeconfig=" + ca.file("proxy.kubeconfig"), "--hostname-override=" + n.NodeName, "--proxy-mode=iptables",
			"--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249",
			"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		}},
	}
}

// importImages gives containerd the images that nodes here have, and those of archives: there is no registry.
func (n node) importImages(ctx context.Context) error {
	if err := retry(ctx, nil, func() error { return command(ctx, "ctr", "--address", socket, "version") }); err != nil {
		return err
	}
	for image, program := range map[string]string{pauseImage: "/usr/local/bin/pause", probeImage: "/usr/local/bin/probe"} {
		// kube-node finds the socket in its directory.
		if err := command(ctx, "kube-node", "image", filepath.Dir(socket), image, program); err != nil {
			return err
		}
	}
	archives, err := filepath.Glob(filepath.Join(imagesDir, "*.tar"))
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if err := command(ctx, "ctr", "--address", socket, "--namespace", "k8s.io", "images", "import", archive); err != nil {
			return err
		}
	}
	return nil
}
