// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// annotate sets annotations of an object, and asks for a pass.
func (w *world) annotate(o client.Object, annotations map[string]string) {
	w.Helper()
	before := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of an object
	annotations[infrav1.AnnotationReconcile] = time.Now().String()
	o.SetAnnotations(annotations)
	if err := w.Patch(w.Context(), o, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// handled waits for the pass of the last request.
func (w *world) handled(o interface {
	client.Object
	conditions.Object
}, last func() string) {
	w.Helper()
	w.eventually(o.GetName()+" has a pass", time.Minute, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		if last() != o.GetAnnotations()[infrav1.AnnotationReconcile] {
			return "not yet"
		}
		return ""
	})
}

// Objects that another home has are not worked on: their records are neither repaired nor removed.
func TestMovedNamesAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	p := w.pool("apps", asIs)
	c := w.claim("apps", "acme", "192.0.2.1")
	f := w.record("www", "www.example.org", nothing)
	w.awaits(c, yubav1.ReasonClaimCommitted, "")
	w.await(f, yubav1.ReasonRecordPublished, "")
	w.awaits(p, yubav1.ReasonPoolReady, "")
	for _, o := range []interface {
		client.Object
		conditions.Object
	}{p, c, f} {
		w.annotate(o, map[string]string{moving.AnnotationMoved: moving.Mark{Move: "m", Name: "prod"}.Text()})
		w.awaits(o, yubav1.ReasonRecordMoved, "Moved to prod by yuba move")
	}
	const other = `A "'203.0.113.9'"`
	w.write("acme.apps.example.org", "A", "203.0.113.9")
	w.write("www.example.org", "LUA", other)
	w.annotate(c, c.Annotations)
	w.annotate(f, f.Annotations)
	w.handled(c, func() string { return c.Status.LastHandledReconcileAt })
	w.handled(f, func() string { return f.Status.LastHandledReconcileAt })
	for _, o := range []client.Object{p, c, f} {
		w.remove(o)
	}
	if a, b, r := w.has("acme.apps.example.org", "A"), w.has("www.example.org", "LUA"), w.has("_yuba.acme.apps.example.org", "TXT"); a != "203.0.113.9" || b != other || r == "" {
		t.Errorf("the records are %q and %q, and the registration %q", a, b, r)
	}
}

// A pass that began before the mark, of a cache that does not know it, writes nothing: the object says Moved in the API itself. An
// object that arrives does nothing, and has no finalizer that would keep it.
func TestAnArrivingRecordWaits(t *testing.T) {
	w := newWorld(t)
	arriving := map[string]string{moving.AnnotationArriving: moving.Mark{Move: "m", Name: "laptop"}.Text()}
	f := &yubav1.FailoverRecord{}
	w.record("model", "model.example.org", func(s *yubav1.FailoverRecordSpec) { f.Spec = *s.DeepCopy() })
	f.Name, f.Spec.Host, f.Annotations = "www", "www.example.org", arriving
	w.create(f)
	w.await(f, yubav1.ReasonRecordMoved, "Being moved here from laptop")
	if is := w.has("www.example.org", "LUA"); is != "" || len(f.Finalizers) > 0 {
		t.Errorf("it has the finalizers %v and the record %q", f.Finalizers, is)
	}
	w.annotate(f, map[string]string{})
	w.await(f, yubav1.ReasonRecordPublished, "")
}

// Each repair of a failover record has an event of its own, however soon it follows another one.
func TestRepairsOfFailoverRecordsAreSaid(t *testing.T) {
	w := newWorld(t)
	f := w.record("www", "www.example.org", nothing)
	w.await(f, yubav1.ReasonRecordPublished, "")
	right := w.has("www.example.org", "LUA")
	if w.told(yubav1.ReasonRecordRepaired, "") {
		t.Error("the first write is called a repair")
	}
	for _, address := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.3"} {
		w.write("www.example.org", "LUA", `A "'`+address+`'"`)
		w.tells(yubav1.ReasonRecordRepaired, `Somebody changed the records, and Yuba wrote them again: www.example.org LUA was A "'`+address+`'" with TTL 60`)
		w.eventually("it is repaired", time.Minute, func() string {
			if is := w.has("www.example.org", "LUA"); is != right {
				return is
			}
			return ""
		})
	}
	w.await(f, yubav1.ReasonRecordPublished, "")
	if is := f.Status.LastRepair; is == nil || len(is.Records) != 1 {
		t.Errorf("the last repair is %+v", is)
	}
	// A change of the spec is none.
	last := f.Status.LastRepair.DeepCopy()
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Endpoints = endpoints("eu=127.0.0.13") })
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.13")
	if is := f.Status.LastRepair; !is.At.Equal(&last.At) {
		t.Errorf("a change of the spec is called a repair: %+v", is)
	}
	var gone yubav1.FailoverRecord
	w.remove(f)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(f), &gone); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// A repair that the server refuses is neither told nor kept in the status. It is told when it is made.
func TestARefusedRepairOfAFailoverRecordIsToldLater(t *testing.T) {
	w := newWorld(t)
	p := newFront(t, w)
	f := w.record("www", "www.example.org", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.URL = p.url })
	w.await(f, yubav1.ReasonRecordPublished, "")
	right := w.has("www.example.org", "LUA")
	p.refuses.Store(true)
	w.write("www.example.org", "LUA", `A "'203.0.113.1'"`)
	w.await(f, yubav1.ReasonRecordUnreachable, "out of disk space")
	if f.Status.LastRepair != nil || w.told(yubav1.ReasonRecordRepaired, "") {
		t.Errorf("a refused repair is %+v, and an event tells it: %v", f.Status.LastRepair, w.told(yubav1.ReasonRecordRepaired, ""))
	}
	p.refuses.Store(false)
	w.annotate(f, map[string]string{})
	w.await(f, yubav1.ReasonRecordPublished, "")
	if is := w.has("www.example.org", "LUA"); is != right {
		t.Errorf("the record is %s", is)
	}
	w.tells(yubav1.ReasonRecordRepaired, `Yuba wrote them again: www.example.org LUA was A "'203.0.113.1'" with TTL 60`)
	if is := f.Status.LastRepair; is == nil || len(is.Records) != 1 {
		t.Errorf("the last repair is %+v", is)
	}
}
