// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
)

// The output is that of iproute2 6.1.
func TestLinkIn(t *testing.T) {
	for listed, want := range map[string]struct {
		owner  string
		exists bool
	}{
		`[{"ifindex":1,"ifname":"lo","flags":["UP"]},{"ifname":"kube-node-pods","ifalias":"/b"}]`: {"", false},
		`[{"ifname":"lo"},{"ifindex":9,"ifname":"kube-node","txqlen":1000,"ifalias":"/tmp/a b"}]`: {"/tmp/a b", true},
		`[{"ifname":"kube-node"}]`: {"", true},
		`[]`:                       {"", false},
	} {
		if owner, exists, err := linkIn([]byte(listed)); err != nil || owner != want.owner || exists != want.exists {
			t.Errorf("%s: %q, %v, %v", listed, owner, exists, err)
		}
	}
	if _, _, err := linkIn([]byte("kube-node")); err == nil {
		t.Error("it reads what is not JSON")
	}
}

// The namespace of a process is used, so it would stay.
func TestUsedNamespaces(t *testing.T) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if used, err := usedNamespaces(); err != nil || !used[own] {
		t.Errorf("%s is not among %v, %v", own, used, err)
	}
}
