// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// expireClaims removes the Leases of a move that was killed, as if they had expired.
func (m movers) expireClaims(t *testing.T, ns string) {
	t.Helper()
	for _, y := range []*yuba{m.a, m.b} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "yuba-move"}}
		if err := y.client.Delete(t.Context(), lease); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// gated creates a stack whose apply waits for a file, and returns when that runs.
func (m movers) gated(t *testing.T, ns string) (obj *infrav1.Terraform, open string) {
	t.Helper()
	m.a.create(t, namespaceObject(ns))
	obj = inline(ns, "busy", `
resource "terraform_data" "gate" {
  input = "gate"
  provisioner "local-exec" {
    command = "touch $HOME/reached; until [ -e $HOME/open ]; do sleep 0.05; done"
  }
}
`, auto)
	m.a.create(t, obj)
	reached, open := m.a.gate(obj)
	awaitFile(t, reached)
	return obj, open
}

// awaitFrozen waits until a move has suspended a stack at A.
func (m movers) awaitFrozen(t *testing.T, obj *infrav1.Terraform) {
	t.Helper()
	m.a.await(t, obj, "it is suspended and marked", func(o *infrav1.Terraform) bool { return moving.Held(o) != "" && o.Spec.Suspend })
}

// underWay begins a move that waits for the run of a gated stack, and returns its end.
func (m movers) underWay(t *testing.T, ns string) (busy *infrav1.Terraform, open string, ended chan error) {
	t.Helper()
	busy, open = m.gated(t, ns)
	mover, err := m.mover(t, &killer{}, ns)
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() {
		_, err := mover.Run(t.Context())
		ended <- err
	}()
	m.awaitFrozen(t, busy)
	return busy, open, ended
}

// While a move waits for a run, a second one is refused, and so is its cancellation. Afterwards no
// Lease is left.
func TestASecondMoveAndACancellationAreRefusedBesideARunningMove(t *testing.T) {
	m := newMovers(t)
	const ns = "claimed"
	busy, open, ended := m.underWay(t, ns)
	for _, extra := range []string{"--yes", "--cancel"} {
		out, news, code := m.a.run(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, extra)
		if code != 5 || !strings.Contains(news, "another yuba move works on namespace "+ns) {
			t.Errorf("with %s beside a running move: %d\n%s%s", extra, code, out, news)
		}
	}
	touch(t, open)
	if err := <-ended; err != nil {
		t.Fatalf("the move ended with %v", err)
	}
	m.b.await(t, busy, "it works at the target", ready)
	if !m.a.stack(t, ns, "busy").Spec.Suspend {
		t.Error("it works at the source, too")
	}
	for _, y := range []*yuba{m.a, m.b} {
		var list coordinationv1.LeaseList
		if err := y.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		for _, lease := range list.Items {
			if lease.Name == "yuba-move" {
				t.Errorf("a Lease is left: %+v", lease)
			}
		}
	}
}

// A move whose Leases expired, as on a machine that slept, is canceled by somebody else. It must not
// go on.
func TestAMoveThatLostItsLeasesToACancellationStops(t *testing.T) {
	m := newMovers(t)
	const ns = "lost"
	busy, open, ended := m.underWay(t, ns)
	m.expireClaims(t, ns)
	other, err := m.mover(t, &killer{}, ns)
	if err != nil {
		t.Fatal(err)
	}
	n, err := other.Cancel(t.Context())
	if err != nil || n != 1 {
		t.Fatalf("canceled %d objects: %v", n, err)
	}
	touch(t, open)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "lost its Lease") {
			t.Errorf("the move ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the move goes on")
	}
	seen := m.a.await(t, busy, "it works at the source", ready)
	if seen.Spec.Suspend || moving.Held(seen) != "" {
		t.Errorf("it is not free: %+v", seen)
	}
	var there infrav1.TerraformList
	if err := m.b.client.List(t.Context(), &there, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for i := range there.Items {
		if moving.Held(&there.Items[i]) == "" {
			t.Errorf("%s works at the target, too", there.Items[i].Name)
		}
	}
	// The target can move on, and the move can be made later.
	if _, err := m.mover(t, &killer{}, ns); err != nil {
		t.Fatal(err)
	}
	move(t, m.a, m.b, "-n", ns)
	m.b.await(t, busy, "it works at the target", ready)
}
