// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package homes_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// Pools, claims and failover records move to another home and back. The records stay as they are all the time, and the home that
// has the objects keeps them.
func TestDNSNamesMoveToAnotherHomeAndBack(t *testing.T) {
	w := newWorld(t)
	w.names(w.a, "team")
	w.create(w.a, namespace("guests"), w.claim("guests", "team", "guest", "192.0.2.9"))
	w.belongs(w.a, "team", "acme")
	w.belongs(w.a, "guests", "guest")
	www := &yubav1.FailoverRecord{ObjectMeta: meta("team", "www")}
	w.await(w.a, www, yubav1.ReasonRecordPublished)
	if says := w.refused(w.a, w.b, "guests"); !strings.Contains(says, "does not have its pool team/apps") {
		t.Errorf("a claim without its pool: %s", says)
	}

	w.move(w.a, w.b, "team")
	w.belongs(w.b, "team", "acme")
	w.await(w.b, www, yubav1.ReasonRecordPublished)
	w.await(w.b, &yubav1.SubdomainPool{ObjectMeta: meta("team", "apps")}, yubav1.ReasonPoolReady)
	for _, o := range w.kinds() {
		w.await(w.a, o, yubav1.ReasonRecordMoved)
	}
	arrived := &yubav1.SubdomainClaim{ObjectMeta: meta("team", "acme")}
	w.eventually("the claim has no former UIDs any more", func() string {
		if err := w.b.Get(t.Context(), client.ObjectKeyFromObject(arrived), arrived); err != nil {
			return err.Error()
		}
		return strings.Join(arrived.Status.FormerUIDs, " ")
	})
	// Who has them repairs them, also for claims that stay and use the copy of the pool.
	w.repairs("acme.apps.example.org", "A", "203.0.113.1", "192.0.2.1")
	w.repairs("guest.apps.example.org", "A", "203.0.113.2", "192.0.2.9")
	lua := w.has("www.example.org", "LUA")
	w.repairs("www.example.org", "LUA", `A "'203.0.113.3'"`, lua)
	w.create(w.a, w.claim("guests", "team", "late", "192.0.2.10"))
	w.await(w.a, &yubav1.SubdomainClaim{ObjectMeta: meta("guests", "late")}, yubav1.ReasonClaimPool)

	// Now their pool is there.
	w.move(w.a, w.b, "guests")
	w.belongs(w.b, "guests", "guest")
	w.belongs(w.b, "guests", "late")

	// A copy that somebody resumes by hand changes nothing: the name is the other one's.
	for _, ns := range []string{"guests"} {
		copied := &yubav1.SubdomainClaim{ObjectMeta: meta(ns, "guest")}
		unmark := []byte(`{"metadata":{"annotations":{"` + moving.AnnotationMoved + `":null}},"spec":{"addresses":["203.0.113.9"]}}`)
		if err := w.a.Patch(t.Context(), copied, client.RawPatch(types.MergePatchType, unmark)); err != nil {
			t.Fatal(err)
		}
		w.await(w.a, copied, yubav1.ReasonRecordOwned)
		if is := w.has("guest.apps.example.org", "A"); is != "192.0.2.9" {
			t.Errorf("a copy wrote %s", is)
		}
	}

	w.resumedByHand(www)
	w.move(w.b, w.a, "team")
	w.belongs(w.a, "team", "acme")
	w.await(w.a, www, yubav1.ReasonRecordPublished)
	// Deleting what is left behind keeps the records.
	for _, o := range w.kinds() {
		w.await(w.b, o, yubav1.ReasonRecordMoved)
		if err := w.b.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range w.kinds()[1:] { // the pool stays while claims of other namespaces use it
		w.eventually("the copy is gone", func() string {
			if err := w.b.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				return o.GetName() + " is still there"
			}
			return ""
		})
	}
	if a, b := w.has("acme.apps.example.org", "A"), w.has("www.example.org", "LUA"); a != "192.0.2.1" || b != lua {
		t.Errorf("after the copies were deleted, the records are %q and %q", a, b)
	}
	w.belongs(w.a, "team", "acme")
}

// kinds are the objects of names: the pool first.
func (w *world) kinds() []object {
	return []object{&yubav1.SubdomainPool{ObjectMeta: meta("team", "apps")}, &yubav1.SubdomainClaim{ObjectMeta: meta("team", "acme")}, &yubav1.FailoverRecord{ObjectMeta: meta("team", "www")}}
}

// resumedByHand takes the mark from the copy of a failover record that a move left behind, and changes its endpoints: the record stays
// the other home's, also while both have passes. Then the mark is there again.
func (w *world) resumedByHand(f *yubav1.FailoverRecord) {
	w.Helper()
	copied := &yubav1.FailoverRecord{ObjectMeta: meta(f.Namespace, f.Name)}
	if err := w.a.Get(w.Context(), client.ObjectKeyFromObject(copied), copied); err != nil {
		w.Fatal(err)
	}
	record, marked := w.has("www.example.org", "LUA"), copied.DeepCopy()
	delete(copied.Annotations, moving.AnnotationMoved)
	copied.Spec.Endpoints[0].Addresses = []string{"127.0.0.99"}
	if err := w.a.Patch(w.Context(), copied, client.MergeFrom(marked)); err != nil {
		w.Fatal(err)
	}
	w.await(w.a, copied, yubav1.ReasonRecordOwned)
	w.repairs("www.example.org", "LUA", `A "'203.0.113.4'"`, record)
	w.await(w.b, f, yubav1.ReasonRecordPublished)
	w.await(w.a, copied, yubav1.ReasonRecordOwned)
	before := copied.DeepCopy()
	copied.Annotations, copied.Spec = marked.Annotations, marked.Spec
	if err := w.a.Patch(w.Context(), copied, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
	w.await(w.a, copied, yubav1.ReasonRecordMoved)
}

// repairs checks that somebody repairs a record.
func (w *world) repairs(name, kind, other, right string) {
	w.Helper()
	w.write(name, kind, other)
	w.eventually(name+" is repaired", func() string {
		if is := w.has(name, kind); is != right {
			return is
		}
		return ""
	})
}

// A move is killed at random moments. At each moment at most one home may write, and the records are right all the time; the next
// call continues.
func TestKilledMovesOfDNSNamesGoOn(t *testing.T) {
	w := newWorld(t)
	w.names(w.a, "team")
	w.belongs(w.a, "team", "acme")
	w.await(w.a, &yubav1.FailoverRecord{ObjectMeta: meta("team", "www")}, yubav1.ReasonRecordPublished)
	lua := w.has("www.example.org", "LUA")
	stop, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-stop:
				return
			default:
			}
			w.oneWriter(lua)
		}
	}()
	from, to, kills := w.a, w.b, 0
	for range 2 {
		for range 6 {
			cmd, _ := w.command(from, to, "-n", "team")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.Int64N(int64(4 * time.Second)))) //nolint:gosec // the moment of the kill is random, not awaited
			cmd.Process.Kill()                                             //nolint:errcheck // it may have ended
			if cmd.Wait() != nil {
				kills++
			}
		}
		w.move(from, to, "team")
		w.belongs(to, "team", "acme")
		w.await(to, &yubav1.FailoverRecord{ObjectMeta: meta("team", "www")}, yubav1.ReasonRecordPublished)
		from, to = to, from
	}
	close(stop)
	<-over
	t.Logf("%d kills", kills)
	if kills == 0 {
		t.Error("no move was killed: the test proves nothing")
	}
}

// oneWriter checks that at most one home may write, and that the records are right.
func (w *world) oneWriter(lua string) {
	w.Helper()
	for _, o := range w.kinds() {
		// The reads are one after the other: only what was free before and after may have been so together with the other one.
		if w.free(w.a, o) && w.free(w.b, o) && w.free(w.a, o) {
			w.Errorf("two homes may work on %T", o)
		}
	}
	for name, want := range map[[2]string]string{{"acme.apps.example.org", "A"}: "192.0.2.1", {"www.example.org", "LUA"}: lua} {
		if is, err := w.content(name[0], name[1]); err != nil || is != want {
			w.Errorf("the record of %s is %q (%v)", name[0], is, err)
		}
	}
}

// free reports whether a home may work on an object.
func (w *world) free(h *home, o object) bool {
	return h.Get(w.Context(), client.ObjectKeyFromObject(o), o) == nil && moving.Held(o) == ""
}
