// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	for sentence, c := range map[string]struct {
		earlier earlier
		want    verb
		err     string
	}{
		"nothing is there: start":                               {earlier{dir: "/a"}, replace, ""},
		"the node works: keep it":                               {earlier{dir: "/a", linked: true, owner: "/a", works: true}, keep, ""},
		"the node is half alive: start anew":                    {earlier{dir: "/a", linked: true, owner: "/a"}, replace, ""},
		"another directory's node was killed: replace it":       {earlier{dir: "/a", linked: true, owner: "/b"}, replace, ""},
		"the interface names nobody: replace it":                {earlier{dir: "/a", linked: true}, replace, ""},
		"another directory's node lives: refuse":                {earlier{dir: "/a", linked: true, owner: "/b", alive: []string{"etcd", "dns"}}, "", "a node runs in /b (etcd, dns)"},
		"another directory's node lives: say how to end it":     {earlier{dir: "/a", linked: true, owner: "/b", alive: []string{"etcd"}}, "", "\n    kube-node down /b"},
		"a rest of another directory's node lives: refuse, too": {earlier{dir: "/a", linked: true, owner: "/b", alive: []string{"containerd"}}, "", "kube-node down /b"},
		"an unknown process has the ports: refuse":              {earlier{dir: "/a", linked: true, owner: "/a", stranger: true}, "", "ss -ltnp"},
	} {
		got, err := decide(c.earlier)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", sentence, got, err)
		}
	}
}

// A process that is not the recorded one any more does not make a node alive.
func TestLiving(t *testing.T) {
	dir := t.TempDir()
	sleeper(t, dir, "etcd")
	killed := sleeper(t, dir, "kubelet")
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	if got, err := living(dir); err != nil || !slices.Equal(got, []string{"etcd"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := living(t.TempDir()); err != nil || len(got) > 0 {
		t.Errorf("a directory without a node: %q, %v", got, err)
	}
}
