// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"testing"
)

// Only shims of the directory's containerd are the node's.
func TestShims(t *testing.T) {
	dir := t.TempDir()
	start := func(name string, args ...string) int {
		// The arguments are a script's, which ignores them, and so they stay in the command line.
		cmd := exec.Command("sh", append([]string{"-c", "read line", "sh"}, args...)...)
		cmd.Args[0] = name
		if _, err := cmd.StdinPipe(); err != nil { // it ends with the test
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		})
		return cmd.Process.Pid
	}
	ours := start("/usr/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-address", socket(dir))
	start("/usr/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-address", socket(dir+"-of-another"))
	start("ctr", "--address", socket(dir))
	all, err := shims(dir)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, p := range all {
		pids = append(pids, p.pid)
	}
	if !slices.Equal(pids, []int{ours}) {
		t.Errorf("got %v, want only %d", pids, ours)
	}
}

// Other engines keep their containers where the node does.
func TestContainersOf(t *testing.T) {
	const listed = `[
{"ociVersion":"1.0.2","id":"a1","pid":0,"status":"stopped","bundle":"/n/containerd-state/io.containerd.runtime.v2.task/k8s.io/a1"},
{"id":"b2","pid":7,"status":"running","bundle":"/run/containerd/io.containerd.runtime.v2.task/k8s.io/b2"},
{"id":"c3","pid":8,"status":"running","bundle":"/n/containerd-state-2/io.containerd.runtime.v2.task/k8s.io/c3"},
{"id":"d4","pid":9,"status":"running","bundle":"/n/containerd-state/io.containerd.runtime.v2.task/k8s.io/d4"}]`
	if got, err := containersOf("/n", []byte(listed)); err != nil || !slices.Equal(got, []string{"a1", "d4"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := containersOf("/n", []byte("null\n")); err != nil || len(got) > 0 { // without containers
		t.Errorf("%q, %v", got, err)
	}
}
