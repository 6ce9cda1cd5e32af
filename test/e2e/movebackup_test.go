// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// A Yuba without a data directory of its own, as in a cluster, is backed up by its namespaces, and
// restored to another one.
func TestNamespacesOfAClusterAreBackedUpAndRestored(t *testing.T) {
	const ns = "team-a"
	y := startLegacy(t, ns)
	y.control(t)
	m := movers{a: y, b: alone(t)}
	y.create(t, namespaceObject("other"))
	m.a.push(t, ns, "code", map[string]string{"main.tf": greeting})
	base := pushed(ns, "base", "code", variable("name", "world"), auto, outputsTo("base-out"), destroying)
	pending := inline(ns, "pending", greeting, variable("name", "x"))
	y.create(t, base, pending)
	y.await(t, base, "it is ready", ready)
	y.await(t, pending, "it waits", waiting)
	id, runs := firstID(t, y.state(t, base)), y.runIDs(t, ns, "base")
	file := filepath.Join(t.TempDir(), "cluster.tar")
	if _, news := y.do(t, "backup", file); !strings.Contains(news, "from 1 namespace") {
		t.Errorf("the backup says:\n%s", news)
	}

	// A damaged backup is refused.
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.tar")
	if err := os.WriteFile(cut, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, news, code := m.b.run(t, "restore", cut, "--yes"); code == 0 || !strings.Contains(news, "truncated") {
		t.Errorf("half a backup: %d %s", code, news)
	}

	m.b.do(t, "restore", file, "--yes", "--suspended")
	if seen := m.b.stack(t, ns, "base"); !seen.Spec.Suspend || !seen.Spec.DestroyResourcesOnDeletion {
		t.Errorf("it is not suspended: %+v", seen.Spec)
	}
	if diff := cmp.Diff(runs, m.b.runIDs(t, ns, "base")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	change(t, m.b, base, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
	change(t, m.b, pending, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
	m.b.await(t, base, "it is ready", ready)
	if got := firstID(t, m.b.state(t, base)); got != id {
		t.Errorf("it was created again: %s, it was %s", got, id)
	}
	if diff := cmp.Diff(runs, m.b.runIDs(t, ns, "base")); diff != "" {
		t.Errorf("it ran (-want +got):\n%s", diff)
	}
	approve(t, m.b, m.b.await(t, pending, "the plan still waits", waiting))
	m.b.await(t, pending, "it is applied", ready)
	m.b.ownedHere(t, ns)

	// Nothing is overwritten by a second restore.
	if _, news, code := m.b.run(t, "restore", file, "--yes"); code != 5 || !strings.Contains(news, "its own object") {
		t.Errorf("a second restore: %d %s", code, news)
	}
}
