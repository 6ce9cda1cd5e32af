// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/objects/claims"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// conflict fails the test unless a write failed because of this holder.
func (b *bench) conflict(err error, holder string, claimed bool) {
	b.Helper()
	var c *ConflictError
	if !errors.As(err, &c) || c.Holder != holder || c.Claimed != claimed {
		b.Errorf("%+v, want a conflict with %s", err, holder)
	}
}

func (b *bench) wrote(req Write) {
	b.Helper()
	if _, err := b.engine.Write(b.Context(), b.cluster, req); err != nil {
		b.Fatal(err)
	}
}

func TestAWriteTakesUnmarkedObjectsByForceOnly(t *testing.T) {
	b := newBench(t, false)
	b.create(b.config("x", "theirs"))
	req := b.write(b.a, b.config("x", "ours"))
	_, err := b.engine.Write(b.Context(), b.cluster, req)
	b.conflict(err, "a person", false)
	if x := b.live("x"); x.Data["key"] != "theirs" || x.Labels["of"] != "" {
		b.Errorf("%v %v", x.Data, x.Labels)
	}
	req.Force = true
	b.wrote(req)
	if x := b.live("x"); x.Data["key"] != "ours" || x.Labels["of"] != "a" {
		b.Errorf("%v %v", x.Data, x.Labels)
	}
}

func TestAWriteRespectsControllers(t *testing.T) {
	b := newBench(t, false)
	u, controller := b.config("x", "theirs"), b.create(b.config("controller", "1"))
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "controller", UID: controller.GetUID()}})
	b.create(u)
	req := b.write(b.a, b.config("x", "ours"))
	req.Force = true
	_, err := b.engine.Write(b.Context(), b.cluster, req)
	b.conflict(err, "its controller", false)
}

func TestAClaimedObjectWaitsForItsOwner(t *testing.T) {
	b := newBench(t, false)
	b.wrote(b.write(b.a, b.config("x", "a")))
	req := b.write(b.b, b.config("x", "b"))
	at := b.cluster.Place(owned.IDOf(req.Manifest))
	_, err := b.engine.Write(b.Context(), b.cluster, req)
	b.conflict(err, "Owner "+b.a.String(), true)
	if b.engine.Free(at, b.b) || b.live("x").Data["key"] != "a" {
		b.Error("it is free")
	}
	b.engine.Keep(b.a, func(claims.Place) bool { return false })
	if !slices.Equal(b.owners.freed(), []Owner{b.b}) || !b.engine.Free(at, b.b) {
		b.Error("b is not woken")
	}
	_, err = b.engine.Write(b.Context(), b.cluster, req)
	b.conflict(err, "a", false) // by its mark
	b.owners.gone[b.a] = true
	b.wrote(req)
	if x := b.live("x"); x.Data["key"] != "b" || x.Labels["of"] != "b" {
		b.Errorf("%v %v", x.Data, x.Labels)
	}
}

// Fields of others are taken on the owner's objects; a write never recreates one.
func TestAWriteChangesItsObject(t *testing.T) {
	b := newBench(t, false)
	b.wrote(b.write(b.a, b.config("x", "1")))
	x := b.live("x")
	x.Data["key"], x.Data["other"] = "theirs", "theirs"
	b.must(b.cluster.Client.Update(b.Context(), x))
	b.wrote(b.seen(b.write(b.a, b.config("x", "2"))))
	if now := b.live("x"); now.UID != x.UID || now.Data["key"] != "2" || now.Data["other"] != "theirs" {
		b.Errorf("%v", now)
	}
	x = b.live("x")
	x.Immutable = new(bool)
	*x.Immutable = true
	b.must(b.cluster.Client.Update(b.Context(), x))
	req := b.seen(b.write(b.a, b.config("x", "3")))
	req.Force = true
	if _, err := b.engine.Write(b.Context(), b.cluster, req); !apierrors.IsInvalid(err) || b.live("x").UID != x.UID {
		b.Errorf("%v", err)
	}
}

func TestRemove(t *testing.T) {
	b := newBench(t, false)
	b.wrote(b.write(b.a, b.config("x", "1")))
	req := b.seen(b.write(b.a, b.config("x", "1")))
	ref := Ref{ID: owned.IDOf(req.Manifest), Version: "v1"}
	release := map[string]any{"metadata": map[string]any{"labels": map[string]any{"of": nil}}}
	if fate, err := b.engine.Remove(b.Context(), b.cluster, ref, req.Live, release); fate != Released || err != nil || b.live("x").Labels["of"] != "" {
		b.Errorf("%v %v", fate, err)
	}
	other := req.Live.DeepCopy()
	other.UID = "another-object-of-this-name"
	if _, err := b.engine.Remove(b.Context(), b.cluster, ref, other, nil); !apierrors.IsConflict(err) || b.live("x") == nil {
		b.Errorf("%v", err)
	}
	if fate, err := b.engine.Remove(b.Context(), b.cluster, ref, req.Live, nil); fate != Deleted || err != nil || b.live("x") != nil {
		b.Errorf("%v %v", fate, err)
	}
	req.Live.DeletionTimestamp = &metav1.Time{}
	if fate, err := b.engine.Remove(b.Context(), b.cluster, ref, req.Live, nil); fate != Going || err != nil {
		b.Errorf("%v %v", fate, err)
	}
}
