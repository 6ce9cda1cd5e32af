// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// down stops the node of a directory: the kubelet first, so that it starts nothing again, then the Pods, then the rest.
func down(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all := []error{stop(ctx, dir, "kubelet"), stopPods(ctx, dir)}
	var rest []string
	for _, p := range parts(dir) {
		rest = append(rest, p.name)
	}
	all = append(all, stop(ctx, dir, rest...), unmount(dir), removeLinks(ctx), removeRules(ctx))
	return errors.Join(all...)
}

// stop asks processes to end, and kills those that live on after some seconds.
func stop(ctx context.Context, dir string, names ...string) error {
	pids := map[string]int{}
	var all []error
	for _, name := range names {
		file := filepath.Join(dir, name+".pid")
		content, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		pid, invalid := strconv.Atoi(string(content))
		if err = errors.Join(err, invalid); err == nil {
			pids[name], err = pid, os.Remove(file)
		}
		if err != nil {
			all = append(all, fmt.Errorf("stop %s: %w", name, err))
		}
	}
	signal := func(s syscall.Signal) (alive []string) {
		for name, pid := range pids {
			if syscall.Kill(pid, s) == nil {
				alive = append(alive, name)
			}
		}
		return alive
	}
	signal(syscall.SIGTERM)
	kindly, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if retry(kindly, func() error { return living(signal(0)) }) != nil {
		signal(syscall.SIGKILL)
	}
	all = append(all, retry(ctx, func() error { return living(signal(0)) }))
	return errors.Join(all...)
}

func living(names []string) error {
	if len(names) > 0 {
		return fmt.Errorf("%s did not end", strings.Join(names, ", "))
	}
	return nil
}

// stopPods kills all containers of the node.
func stopPods(ctx context.Context, dir string) error {
	ctr := func(args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "ctr", append([]string{"--address", socket(dir), "--namespace", "k8s.io"}, args...)...)
	}
	list, err := ctr("tasks", "list", "--quiet").Output()
	if err != nil {
		// containerd does not run: neither do its containers.
		return nil
	}
	for _, id := range strings.Fields(string(list)) {
		_ = ctr("tasks", "kill", "--signal", "KILL", id).Run()       //nolint:errcheck // it may have ended by now
		_ = ctr("tasks", "delete", "--force", id).Run()              //nolint:errcheck // the same
		_ = ctr("containers", "delete", "--keep-snapshot", id).Run() //nolint:errcheck // the same
	}
	return nil
}

// unmount removes the mounts that Pods left below the directory.
func unmount(dir string) error {
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		return err
	}
	defer mounts.Close() //nolint:errcheck // it is only read
	var below []string
	for s := bufio.NewScanner(mounts); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			below = append(below, fields[1])
		}
	}
	var all []error
	for _, mount := range slices.Backward(below) {
		all = append(all, syscall.Unmount(mount, syscall.MNT_DETACH))
	}
	return errors.Join(all...)
}

// removeLinks removes the node's interfaces, and its route with them.
func removeLinks(ctx context.Context) error {
	var all []error
	for _, name := range []string{link, bridge} {
		if ip(ctx, "link", "show", name) == nil {
			all = append(all, ip(ctx, "link", "delete", name))
		}
	}
	return errors.Join(all...)
}

// removeRules removes the packet filter rules of kubelet, kube-proxy and CNI plugins. The machine's other rules stay.
func removeRules(ctx context.Context) error {
	saved, err := exec.CommandContext(ctx, "iptables-save").Output()
	if err != nil {
		return fmt.Errorf("iptables-save: %w", err)
	}
	var others strings.Builder
	for line := range strings.Lines(string(saved)) {
		if !strings.Contains(line, "KUBE-") && !strings.Contains(line, "CNI-") {
			others.WriteString(line)
		}
	}
	restore := exec.CommandContext(ctx, "iptables-restore")
	restore.Stdin = strings.NewReader(others.String())
	if out, err := restore.CombinedOutput(); err != nil {
		return fmt.Errorf("iptables-restore: %w: %s", err, out)
	}
	return nil
}
