// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestABatchIsCreatedChangedAndLeftAlone(t *testing.T) {
	onBoth(t, func(b *bench) {
		b.applied("created", b.a, b.config("x", "1"))
		b.applied("unchanged", b.a, b.config("x", "1"))
		b.applied("configured", b.a, b.config("x", "2"))
		if owner, _ := testPolicy.OwnerOf(b.live("x")); owner != b.a {
			b.Errorf("it is of %v", owner)
		}
	})
}

// An unmarked object becomes the owner's, with the fields of others.
func TestABatchAdoptsUnmarkedObjects(t *testing.T) {
	onBoth(t, func(b *bench) {
		b.create(b.config("x", "theirs"))
		b.applied("configured", b.a, b.config("x", "ours"))
		if x := b.live("x"); x.Data["key"] != "ours" || x.Labels[testPolicy.labelName()] != "a" {
			b.Errorf("%v %v", x.Data, x.Labels)
		}
	})
}

func TestAnObjectOfAnotherOwnerIsHandedOver(t *testing.T) {
	onBoth(t, func(b *bench) {
		b.applied("created", b.a, b.config("x", "a"))
		if done, holders, err := b.apply(b.b, false, b.config("x", "b"), b.config("y", "b")); err != nil || !slices.Equal(holders, []Owner{b.a}) || len(done) != 1 {
			b.Fatalf("%q %v %v", done, holders, err)
		}
		if b.live("x").Data["key"] != "a" {
			b.Error("b changed it")
		}
		// b waits for it, so it is not deleted.
		removal, err := b.engine.Delete(b.Context(), b.cluster, b.a, RefsOf([]*unstructured.Unstructured{b.config("x", "")}))
		b.must(err)
		if len(removal.Deleted) > 0 || !slices.Equal(b.owners.freed(), []Owner{b.b}) {
			b.Errorf("%+v", removal)
		}
		b.applied("configured", b.b, b.config("x", "b"))
	})
}

// After a restart nobody has claimed anything, and the labels count.
func TestWhoseLabelsCount(t *testing.T) {
	for sentence, c := range map[string]struct {
		change  func(*bench)
		watched bool
		held    bool
	}{
		"an owner that exists":            {func(*bench) {}, true, true},
		"an owner that is gone":           {func(b *bench) { b.owners.gone[b.a] = true }, true, false},
		"an owner that gave it up":        {func(b *bench) { b.owners.emptied = true }, true, false},
		"an owner in an unknown server":   {func(b *bench) { b.owners.gone[b.a] = true }, false, true},
		"a remote owner that gave it up?": {func(b *bench) { b.owners.emptied = true }, false, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newBench(t, c.watched)
			b.applied("created", b.a, b.config("x", "a"))
			b.restart()
			c.change(b)
			_, holders, err := b.apply(b.b, false, b.config("x", "b"))
			b.must(err)
			if held := len(holders) > 0; held != c.held || held == (b.live("x").Data["key"] == "b") {
				b.Errorf("held: %v, want %v; %v", held, c.held, b.live("x").Data)
			}
		})
	}
}

// Two owners with force do not take an object from each other forever.
func TestForceTakesAnObjectOnce(t *testing.T) {
	onBoth(t, func(b *bench) {
		b.applied("created", b.a, b.config("x", "a"))
		if done, holders, err := b.apply(b.b, true, b.config("x", "b")); err != nil || len(holders) > 0 || !slices.Equal(done, []string{"configured"}) {
			b.Fatalf("%q %v %v", done, holders, err)
		}
		if _, holders, err := b.apply(b.a, true, b.config("x", "a")); err != nil || !slices.Equal(holders, []Owner{b.b}) {
			b.Errorf("%v %v", holders, err)
		}
	})
}

func TestAnImmutableObjectIsRecreatedByForceOnly(t *testing.T) {
	immutable := func(b *bench, key string) *unstructured.Unstructured {
		return b.object("ConfigMap", "x", map[string]any{"immutable": true, "data": map[string]any{key: "1"}})
	}
	onBoth(t, func(b *bench) {
		b.applied("created", b.a, immutable(b, "one"))
		before := b.live("x").UID
		if _, _, err := b.apply(b.a, false, immutable(b, "two")); err == nil || !strings.Contains(err.Error(), "immutable") {
			b.Errorf("%v", err)
		}
		if _, _, err := b.apply(b.a, true, immutable(b, "not a key")); err == nil {
			b.Error("the API took an invalid object")
		}
		if x := b.live("x"); x == nil || x.UID != before {
			b.Fatalf("it was deleted for nothing: %v", x)
		}
		if _, _, err := b.apply(b.a, true, immutable(b, "two")); err != nil {
			b.Fatal(err)
		}
		if x := b.live("x"); x == nil || x.UID == before || x.Data["two"] != "1" {
			b.Errorf("%v", x)
		}
	})
}

// If the API refuses one object, the existing ones stay as they are.
func TestABatchIsTriedFirst(t *testing.T) {
	onBoth(t, func(b *bench) {
		b.applied("created", b.a, b.config("x", "1"))
		bad := b.object("ConfigMap", "y", map[string]any{"data": map[string]any{"not a key": "1"}})
		if _, _, err := b.apply(b.a, false, b.config("x", "2"), bad); err == nil || !strings.Contains(err.Error(), "ConfigMap/"+b.ns+"/y dry-run failed") {
			b.Errorf("%v", err)
		}
		if x := b.live("x"); x.Data["key"] != "1" {
			b.Errorf("it was changed: %v", x.Data)
		}
		// Nobody keeps y, which was not created.
		b.applied("created", b.b, b.config("y", "b"))
	})
}

func TestAnObjectWithoutANamespaceIsRefused(t *testing.T) {
	b := newBench(t, true)
	u := b.config("x", "1")
	u.SetNamespace("")
	_, _, err := b.apply(b.a, false, u)
	if want := "ConfigMap/x namespace not specified: set its metadata.namespace or spec.namespace of the Owner"; err == nil || err.Error() != want {
		b.Errorf("%v, want %s", err, want)
	}
}

func TestObjectsAreDeletedInTheReverseOrder(t *testing.T) {
	onBoth(t, func(b *bench) {
		kept := b.config("kept", "1")
		kept.SetAnnotations(map[string]string{testPolicy.keyPrune(): valueDisabled})
		finalized := b.config("finalized", "1")
		finalized.SetFinalizers([]string{"test.yuba.dev/stays"})
		all := []*unstructured.Unstructured{kept, b.object("ServiceAccount", "s", nil), finalized, b.object("Secret", "s", nil)}
		if _, _, err := b.apply(b.a, false, all...); err != nil {
			b.Fatal(err)
		}
		b.create(b.config("foreign", "1"))
		refs := RefsOf(append(all, b.config("foreign", ""), b.config("missing", "")))
		removal, err := b.engine.Delete(b.Context(), b.cluster, b.a, refs)
		b.must(err)
		if want := []string{"Secret", "ConfigMap", "ServiceAccount"}; !slices.Equal(b.deleted, want) || len(removal.Deleted) != 3 || len(removal.Failed) > 0 {
			b.Errorf("deleted %q, want %q; %+v", b.deleted, want, removal)
		}
		if b.live("kept") == nil || b.live("foreign") == nil {
			b.Error("an object is gone that must stay")
		}
		removal, err = b.engine.Delete(b.Context(), b.cluster, b.a, refs)
		b.must(err)
		left, err := b.engine.Remaining(b.Context(), b.cluster, b.a, refs)
		b.must(err)
		if len(removal.Going) != 1 || removal.Going[0].Name != "finalized" || len(left) != 1 {
			b.Errorf("%+v, left: %v", removal, left)
		}
	})
}
