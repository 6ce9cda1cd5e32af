// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"maps"
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

// Isolated networks need the families of sockets that a relay uses, and the device for tunnels. The
// unit hides all devices, and the documented drop-in allows this one.
func TestTheServiceAllowsIsolatedNetworks(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	unit, err := os.ReadFile(filepath.Join(root, "examples", "systemd", "yuba.service"))
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(filepath.Join(root, "docs", "how-to", "network-of-runs.md"))
	if err != nil {
		t.Fatal(err)
	}
	settings := settingsOf(string(unit))
	if settings["PrivateDevices"] != "yes" || settings["DeviceAllow"] != "" {
		t.Errorf("the unit's devices: %q, %q", settings["PrivateDevices"], settings["DeviceAllow"])
	}
	_, dropIn, _ := strings.Cut(string(guide), "```ini\n[Service]\n")
	dropIn, _, _ = strings.Cut(dropIn, "```")
	want := map[string]string{"PrivateDevices": "no", "DevicePolicy": "closed", "DeviceAllow": "/dev/net/tun rw"}
	if got := settingsOf(dropIn); !maps.Equal(got, want) {
		t.Errorf("the drop-in has %v, want %v", got, want)
	}
	for _, family := range []string{"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"} {
		if !slices.Contains(strings.Fields(settings["RestrictAddressFamilies"]), family) {
			t.Errorf("the unit refuses %s", family)
		}
	}
}

// settingsOf are the settings of a unit.
func settingsOf(text string) map[string]string {
	settings := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(name, "#") {
			settings[name] = value
		}
	}
	return settings
}
