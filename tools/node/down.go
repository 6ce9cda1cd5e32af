// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// down stops the node of a directory. The network of another directory's node stays.
func down(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := end(ctx, dir)
	owner, exists, err := readLink(ctx)
	if err != nil || !exists || owner != "" && owner != dir {
		return errors.Join(ended, err)
	}
	return errors.Join(ended, removeNetwork(ctx))
}

// end ends the processes, Pods and mounts of a directory's node, of which any may be gone: the
// kubelet first, so that it starts nothing again, then the Pods, then the rest.
func end(ctx context.Context, dir string) error {
	all := []error{stop(ctx, dir, "kubelet")}
	asked := stopPods(ctx, dir)
	var rest []string
	for _, p := range parts(dir) {
		rest = append(rest, p.name)
	}
	all = append(all, stop(ctx, dir, rest...))
	if err := killPods(ctx, dir); err != nil {
		all = append(all, asked, err)
	}
	return errors.Join(append(all, unmount(dir))...)
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
		// It may have gone with one above it.
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil && err != syscall.EINVAL && err != syscall.ENOENT {
			all = append(all, fmt.Errorf("unmount %s: %w", mount, err))
		}
	}
	return errors.Join(all...)
}
