// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The unit must allow each namespace that a run gets, or runs go without walls, and no other.
func TestTheServiceAllowsTheNamespacesOfRuns(t *testing.T) {
	cell := Cell{NoNetwork: true}
	flags := Walls{Namespaces: WithUser}.attributes(cell).Cloneflags | Walls{Namespaces: WithUser, Users: true}.attributes(cell).Cloneflags |
		Walls{Namespaces: Plain}.attributes(cell).Cloneflags
	var needed []string
	for name, flag := range map[string]uintptr{
		"cgroup": unix.CLONE_NEWCGROUP, "ipc": unix.CLONE_NEWIPC, "mnt": unix.CLONE_NEWNS, "net": unix.CLONE_NEWNET,
		"pid": unix.CLONE_NEWPID, "time": unix.CLONE_NEWTIME, "user": unix.CLONE_NEWUSER, "uts": unix.CLONE_NEWUTS,
	} {
		if flags&flag != 0 {
			needed = append(needed, name)
		}
	}
	unit, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "systemd", "yuba.service"))
	if err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for line := range strings.Lines(string(unit)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "RestrictNamespaces="); ok {
			allowed = append(allowed, strings.Fields(value)...)
		}
	}
	slices.Sort(needed)
	slices.Sort(allowed)
	if want := []string{"ipc", "mnt", "net", "pid", "user"}; !slices.Equal(needed, want) {
		t.Errorf("runs need %v, want %v", needed, want)
	}
	if !slices.Equal(allowed, needed) {
		t.Errorf("the unit allows %v, and runs need %v", allowed, needed)
	}
}
