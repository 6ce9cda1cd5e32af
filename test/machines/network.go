// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

// short makes a name of the kernel, which may have 15 characters, of the directory and a name.
func (h *host) short(kind, name string) string {
	sum := sha256.Sum256([]byte(h.dir + "\x00" + kind + "\x00" + name))
	return kind + hex.EncodeToString(sum[:5])
}

// The names of a network's bridge, and of a machine's namespace and interface.
func (h *host) bridge(network string) string    { return h.short("lmb", network) }
func (h *host) namespace(machine string) string { return h.short("lmn", machine) }
func (h *host) interfaceOf(machine string) string {
	return h.short("lmi", machine)
}

func ip(ctx context.Context, args ...string) error { return command(ctx, "ip", args...) }

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func exists(link string) bool {
	_, err := os.Stat("/sys/class/net/" + link)
	return err == nil
}

// addBridge adds the network's switch. This machine has the first address, and is the way out.
func addBridge(ctx context.Context, link string, of netip.Prefix) error {
	if !exists(link) {
		if err := ip(ctx, "link", "add", link, "type", "bridge"); err != nil {
			return err
		}
	}
	if err := ip(ctx, "addr", "replace", fmt.Sprintf("%s/%d", of.Addr().Next(), of.Bits()), "dev", link); err != nil {
		return err
	}
	return ip(ctx, "link", "set", link, "up")
}

func removeLink(ctx context.Context, link string) error {
	if !exists(link) {
		return nil
	}
	return ip(ctx, "link", "delete", link)
}

// plug gives a machine its namespace and its interface in a network.
func (h *host) plug(ctx context.Context, m machine, of netip.Prefix) error {
	ns, link := h.namespace(m.Name), h.interfaceOf(m.Name)
	in := func(args ...string) error { return ip(ctx, append([]string{"-n", ns}, args...)...) }
	steps := []func() error{
		func() error { return ip(ctx, "netns", "add", ns) },
		func() error { return ip(ctx, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", ns) },
		func() error { return ip(ctx, "link", "set", link, "master", h.bridge(m.Network), "up") },
		func() error { return in("addr", "add", fmt.Sprintf("%s/%d", m.Address, of.Bits()), "dev", "eth0") },
		func() error { return in("link", "set", "lo", "up") },
		func() error { return in("link", "set", "eth0", "up") },
		func() error { return in("route", "add", "default", "via", of.Addr().Next().String()) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// unplug removes what plug added.
func (h *host) unplug(ctx context.Context, name string) error {
	if err := removeLink(ctx, h.interfaceOf(name)); err != nil {
		return err
	}
	if _, err := os.Stat("/run/netns/" + h.namespace(name)); err != nil {
		return nil
	}
	return ip(ctx, "netns", "delete", h.namespace(name))
}
