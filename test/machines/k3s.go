// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// k3sConfig is the part of k3s' config.yaml that the stand-in understands. Keys are those of k3s' documentation, and
// another key is an error, as it is for k3s.
type k3sConfig struct {
	Token         string   `json:"token"`
	Server        string   `json:"server"`
	ClusterInit   bool     `json:"cluster-init"`
	NodeName      string   `json:"node-name"`
	NodeIP        string   `json:"node-ip"`
	NodeLabels    []string `json:"node-label"`
	TLSSANs       []string `json:"tls-san"`
	ClusterCIDR   string   `json:"cluster-cidr"`
	ServiceCIDR   string   `json:"service-cidr"`
	Flannel       string   `json:"flannel-backend"`
	KubeletArgs   []string `json:"kubelet-arg"`
	APIServerArgs []string `json:"kube-apiserver-arg"`
	ManagerArgs   []string `json:"kube-controller-manager-arg"`
	EtcdArgs      []string `json:"etcd-arg"`
	// The stand-in has no packaged components, no network policies and no encryption at rest.
	Disable              []string `json:"disable"`
	DisableNetworkPolicy bool     `json:"disable-network-policy"`
	SecretsEncryption    bool     `json:"secrets-encryption"`
	KubeconfigMode       string   `json:"write-kubeconfig-mode"`
}

const k3sConfigFile = "/etc/rancher/k3s/config.yaml"

// k3s stands in for "k3s server" and "k3s agent".
func k3s(ctx context.Context, args []string) error {
	if len(args) != 1 || args[0] != "server" && args[0] != "agent" {
		return errors.New("want k3s server, or k3s agent; the rest is in " + k3sConfigFile)
	}
	text, err := os.ReadFile(k3sConfigFile)
	if err != nil {
		return err
	}
	var c k3sConfig
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return fmt.Errorf("read %s: %w", k3sConfigFile, err)
	}
	n, err := c.node(args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", k3sConfigFile, err)
	}
	return n.run(ctx)
}

// node is what a machine is in its cluster.
type node struct {
	k3sConfig
	// control is the address of the control plane, which is the node itself if server is true.
	control string
	server  bool
	// service is the first address of services, which is the API's.
	service string
}

// node checks the configuration.
func (c k3sConfig) node(verb string) (node, error) {
	n := node{k3sConfig: c, server: verb == "server", control: c.NodeIP}
	if c.Token == "" || c.NodeName == "" || net.ParseIP(c.NodeIP) == nil {
		return n, errors.New("want token, node-name and node-ip")
	}
	if !n.server {
		u, err := url.Parse(c.Server)
		if err != nil || u.Scheme != "https" || u.Port() != "6443" {
			return n, fmt.Errorf("server %q: want https://ADDRESS:6443", c.Server)
		}
		n.control = u.Hostname()
		return n, nil
	}
	if !c.ClusterInit || c.Server != "" {
		return n, errors.New("this stand-in for k3s has one control plane, so a server wants cluster-init and no server")
	}
	services, err := netip.ParsePrefix(c.ServiceCIDR)
	if err != nil {
		return n, fmt.Errorf("service-cidr: %w", err)
	}
	n.service = services.Masked().Addr().Next().String()
	if _, err := netip.ParsePrefix(c.ClusterCIDR); err != nil {
		return n, fmt.Errorf("cluster-cidr: %w", err)
	}
	if c.Flannel != "" && !slices.Contains([]string{"none", "vxlan", "host-gw", "wireguard-native"}, c.Flannel) {
		return n, fmt.Errorf("flannel-backend %q: k3s has none, vxlan, host-gw and wireguard-native", c.Flannel)
	}
	for _, arg := range c.EtcdArgs {
		if name, value, ok := strings.Cut(arg, "="); !ok || name != "quota-backend-bytes" || strings.Trim(value, "0123456789") != "" {
			return n, fmt.Errorf("etcd-arg %q: want quota-backend-bytes and a number of bytes", arg)
		}
	}
	return n, nil
}

// flags turns arguments for a component into flags, as k3s does.
func flags(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = "--" + strings.TrimPrefix(a, "--")
	}
	return out
}
