// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const cgroupRoot = "/sys/fs/cgroup"

// hierarchies are the controllers' directories of cgroup version 1, or the one of version 2.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{cgroupRoot}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		path := filepath.Join(cgroupRoot, e.Name())
		if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err == nil && e.IsDir() {
			all = append(all, path)
		}
	}
	return all, nil
}

// addCgroups adds the cgroup of a machine's processes. Its Pods are below it, so kubelets do not see each other's.
func (h *host) addCgroups(machine string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range all {
		dir := filepath.Join(root, h.namespace(machine))
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A new cpuset of version 1 has no processors.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// enterCgroup moves this process into its machine's cgroup.
func enterCgroup(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range all {
		// In the machine's namespace of processes this one is 1, and the kernel translates.
		if err := os.WriteFile(filepath.Join(root, name, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes a machine's cgroup. It fails while there are processes in it.
func (h *host) removeCgroups(machine string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var failed []error
	for _, root := range all {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(root, h.namespace(machine)), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		failed = append(failed, err)
		slices.SortFunc(dirs, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
		for _, dir := range dirs {
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}
