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
	all = append(all, stop(ctx, dir, rest...), unmount(dir), removeLinks(ctx), removeRules(ctx, dir))
	return errors.Join(all...)
}

// stop asks processes to end, and kills those that live on after some seconds.
func stop(ctx context.Context, dir string, names ...string) error {
	var ours []*process
	var all []error
	for _, name := range names {
		p, err := recorded(dir, name)
		if err != nil {
			all = append(all, fmt.Errorf("stop %s: %w", name, err))
		}
		if err == nil && p != nil {
			ours = append(ours, p)
		}
	}
	signal := func(s syscall.Signal) {
		for _, p := range ours {
			p.signal(s)
		}
	}
	signal(syscall.SIGTERM)
	kindly, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if retry(kindly, func() error { return ended(ours) }) != nil {
		signal(syscall.SIGKILL)
	}
	if err := retry(ctx, func() error { return ended(ours) }); err != nil {
		return errors.Join(append(all, err)...)
	}
	for _, p := range ours {
		all = append(all, os.Remove(p.file))
	}
	return errors.Join(all...)
}

// ended fails if one of the processes is alive.
func ended(all []*process) error {
	var names []string
	for _, p := range all {
		if p.alive() {
			names = append(names, p.name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("%s did not end", strings.Join(names, ", "))
	}
	return nil
}

// stopPods kills all containers of the node.
func stopPods(ctx context.Context, dir string) error {
	if p, err := recorded(dir, "containerd"); err != nil || p == nil || !p.alive() {
		return errors.Join(err, noShims(dir))
	}
	// The containers of a Pod share a shim, which ends with the Pod: a request that it does not answer any
	// more is no error if the container is gone afterwards.
	const attempts = 3
	var failed error
	for range attempts {
		list, err := ctr(ctx, dir, "tasks", "list", "--quiet")
		if err != nil || list == "" {
			return err
		}
		failed = nil
		for _, id := range strings.Fields(list) {
			for _, args := range [][]string{{"tasks", "kill", "--signal", "KILL", id}, {"tasks", "delete", "--force", id}, {"containers", "delete", "--keep-snapshot", id}} {
				_, err := ctr(ctx, dir, args...)
				failed = errors.Join(failed, err)
			}
		}
		if failed == nil {
			return nil
		}
	}
	return failed
}

// ctr asks the node's containerd for something. What it does not find is not an error, as containers
// may end at any time.
func ctr(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", socket(dir), "--namespace", "k8s.io"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	text := strings.TrimSpace(said.String())
	if err == nil || ctx.Err() == nil && strings.HasSuffix(text, ": not found") { // ctr has no exit codes for errors
		return string(out), nil
	}
	return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, text)
}

// noShims fails if containers of the node live on without containerd, which each has a shim for.
func noShims(dir string) error {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	var pids []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		args := strings.Split(string(content), "\x00")
		if strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") && slices.Contains(args, socket(dir)) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	if len(pids) > 0 {
		return fmt.Errorf("containerd does not run, but containers do, below the processes %s. Kill them", strings.Join(pids, ", "))
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
