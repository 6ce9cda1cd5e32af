// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// addLink adds the interface that has the node's address and names its directory. Packets to services that kube-proxy does
// not serve end there instead of leaving the machine.
func addLink(ctx context.Context, dir string) error {
	for _, args := range [][]string{
		{"link", "add", link, "type", "bridge"}, {"link", "set", link, "alias", dir},
		{"addr", "add", address + "/32", "dev", link}, {"link", "set", link, "up"},
		{"route", "add", serviceRange, "dev", link},
	} {
		if err := ip(ctx, args...); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// readLink returns the directory that the node's interface names, "" if none, and whether the
// interface exists.
func readLink(ctx context.Context) (owner string, exists bool, err error) {
	out, err := exec.CommandContext(ctx, "ip", "-json", "link", "show").Output()
	if err != nil {
		return "", false, fmt.Errorf("list the machine's interfaces: ip -json link show: %w", err)
	}
	return linkIn(out)
}

// linkIn is readLink for the output of ip.
func linkIn(listed []byte) (owner string, exists bool, err error) {
	var all []struct{ IfName, IfAlias string }
	if err := json.Unmarshal(listed, &all); err != nil {
		return "", false, fmt.Errorf("read the list of the machine's interfaces: %w", err)
	}
	for _, l := range all {
		if l.IfName == link {
			return l.IfAlias, true, nil
		}
	}
	return "", false, nil
}

// removeNetwork removes the network of a node that has ended. The interface goes last: as long as it
// exists, the next attempt knows that the rest is the node's.
func removeNetwork(ctx context.Context) error {
	all := []error{removeNamespaces(ctx), removeRules(ctx)}
	if ip(ctx, "link", "show", bridge) == nil {
		all = append(all, ip(ctx, "link", "delete", bridge))
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	return ip(ctx, "link", "delete", link)
}

// removeNamespaces removes the network namespaces of Pods, and with them the interfaces that lead
// there. A namespace with a process is another container engine's.
func removeNamespaces(ctx context.Context) error {
	used, err := usedNamespaces()
	if err != nil {
		return err
	}
	names, err := filepath.Glob("/run/netns/cni-*")
	if err != nil {
		return err
	}
	var all []error
	for _, name := range names {
		var info syscall.Stat_t
		if err := syscall.Stat(name, &info); err != nil || used[fmt.Sprintf("net:[%d]", info.Ino)] {
			continue // it is gone, or used
		}
		all = append(all, ip(ctx, "netns", "delete", filepath.Base(name)))
	}
	return errors.Join(all...)
}

// usedNamespaces are the network namespaces that have processes.
func usedNamespaces() (map[string]bool, error) {
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, l := range links {
		if name, err := os.Readlink(l); err == nil { // else the process has ended
			used[name] = true
		}
	}
	return used, nil
}
