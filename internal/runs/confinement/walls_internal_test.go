// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhoOfATickWasFirst(t *testing.T) {
	for _, c := range []struct {
		pid, other int
		want       bool
	}{{300, 301, true}, {301, 300, false}, {300, 32760, false}, {32760, 300, true}, {4194300, 310, true}, {310, 4194300, false}} {
		if got := numberedBefore(c.pid, c.other); got != c.want {
			t.Errorf("%d before %d: %t", c.pid, c.other, got)
		}
	}
}

func TestWallsThatAnOlderKernelLacksAreNamed(t *testing.T) {
	const truncation, ports, signals, sockets = "Landlock for truncation", "Landlock for ports", "Landlock for signals", "Landlock for abstract sockets"
	const unixSockets = "Landlock for sockets"
	for sentence, c := range map[string]struct {
		walls Walls
		want  []string
	}{
		"Linux 6.12":                          {Walls{Namespaces: WithUser, Landlock: 6, Filter: true}, nil},
		"Linux 6.7":                           {Walls{Namespaces: WithUser, Landlock: 4, Filter: true}, []string{sockets}},
		"Linux 6.1":                           {Walls{Namespaces: WithUser, Landlock: 2, Filter: true}, []string{ports, sockets}},
		"Linux 6.1 as root":                   {Walls{Namespaces: Plain, Users: true, Root: true, Landlock: 2, Filter: true}, []string{ports, sockets}},
		"Linux 6.1 without namespaces":        {Walls{Landlock: 2, Filter: true}, []string{"namespaces", truncation, ports, signals, sockets, unixSockets}},
		"Linux 6.12 without namespaces":       {Walls{Landlock: 6, Filter: true}, []string{"namespaces", unixSockets}},
		"Linux 7.1 without namespaces":        {Walls{Landlock: 9, Filter: true}, []string{"namespaces"}},
		"no Landlock":                         {Walls{Namespaces: WithUser, Filter: true}, []string{"Landlock"}},
		"no filter":                           {Walls{Namespaces: WithUser, Landlock: 6}, []string{"seccomp"}},
		"root without users, a newer machine": {Walls{Namespaces: Plain, Root: true, Landlock: 9, Filter: true}, []string{"users"}},
		"nothing at all":                      {Walls{Root: true}, []string{"namespaces", "users", "seccomp", "Landlock"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.walls.name(nil, nil)
			var got []string
			for _, m := range c.walls.Missing {
				got = append(got, m.Wall)
				if m.Why == "" || m.Means == "" {
					t.Errorf("%+v says too little", m)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || c.walls.Complete() != (c.want == nil) {
				t.Errorf("complete %v (-want +got):\n%s", c.walls.Complete(), diff)
			}
		})
	}
}

// The message names what programs can do to the server only if they run as the server's user.
func TestWhatModesOfFilesMeanIsSaid(t *testing.T) {
	for _, users := range []bool{false, true} {
		w := Walls{Landlock: 9, Filter: true, Users: users, Root: users}
		w.name(nil, nil)
		if said := strings.Contains(w.Missing[0].Means, "stop the server"); said == users {
			t.Errorf("users of their own: %v, and it says %q", users, w.Missing[0].Means)
		}
	}
}
