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
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// runcRoot is where the shims of Kubernetes' containers have runc keep its records. Other engines
// of the machine use it, too.
const runcRoot = "/run/containerd/runc/k8s.io"

// stopPods has containerd kill all containers of the node, so that it also forgets them. Without
// containerd it does nothing: killPods kills what is left.
func stopPods(ctx context.Context, dir string) error {
	if p, err := recorded(dir, "containerd"); err != nil || p == nil || !p.alive() {
		return err
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

// killPods kills the containers that live on without containerd, and the shims above them.
func killPods(ctx context.Context, dir string) error {
	all, err := shims(dir)
	if err != nil {
		return err
	}
	for _, p := range all {
		p.signal(syscall.SIGKILL)
	}
	if err := retry(ctx, func() error { return ended(all) }); err != nil {
		return err
	}
	if _, err := os.Stat(runcRoot); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// Some containers that it cannot read are other engines' matter, so its complaints do not count.
	listed, err := exec.CommandContext(ctx, "runc", "--root", runcRoot, "list", "--format", "json").Output()
	if err != nil {
		return fmt.Errorf("list the containers that live on without containerd: runc --root %s list: %w", runcRoot, err)
	}
	ids, err := containersOf(dir, listed)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range ids {
		failed = append(failed, command(ctx, "runc", "--root", runcRoot, "delete", "--force", id))
	}
	return errors.Join(failed...)
}

// shims are the processes that stand between containerd and the containers of the node's Pods.
// They do not end with containerd.
func shims(dir string) ([]*process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var all []*process
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		// The handle and the mark come first: should the number change hands, nobody gets a signal.
		p := &process{name: fmt.Sprintf("the shim %d", pid), pid: pid}
		if p.handle, err = os.FindProcess(pid); err != nil {
			continue // it has ended
		}
		if p.mark, err = markOf(pid); err != nil {
			continue
		}
		content, err := os.ReadFile(file)
		if err == nil && isShim(strings.Split(string(content), "\x00"), dir) {
			all = append(all, p)
		}
	}
	return all, nil
}

// isShim reports whether a command is a shim of the node in a directory.
func isShim(args []string, dir string) bool {
	return strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") && slices.Contains(args, socket(dir))
}

// containersOf are the containers in a list of runc's that belong to the node in a directory.
func containersOf(dir string, listed []byte) ([]string, error) {
	var all []struct{ ID, Bundle string }
	if err := json.Unmarshal(listed, &all); err != nil {
		return nil, fmt.Errorf("read the list of containers of runc: %w", err)
	}
	var ids []string
	for _, c := range all {
		if strings.HasPrefix(c.Bundle, filepath.Join(dir, "containerd-state")+"/") {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}
