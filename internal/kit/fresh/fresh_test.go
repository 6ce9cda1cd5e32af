// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fresh

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// versions is a cache or an API with one object, of which only the version counts; empty when there
// is none.
type versions struct {
	client.Reader
	version string
	asked   int
}

func (v *versions) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	v.asked++
	if v.version == "" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, key.Name)
	}
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	obj.SetResourceVersion(v.version)
	return nil
}

func TestReadingWhatWasWritten(t *testing.T) {
	for sentence, test := range map[string]struct {
		cache, api, wrote, want string
		live                    bool
	}{
		"an object that was not written here comes from the cache":                 {"5", "9", "", "5", false},
		"one that was written here comes from the API while the cache is behind":   {"5", "9", "9", "9", true},
		"the cache has what was written":                                           {"9", "9", "9", "9", false},
		"the cache has a later version; numbers are not compared as texts":         {"10", "10", "9", "10", false},
		"one that was written here and that the cache does not have yet":           {"", "9", "9", "9", true},
		"one that the cache does not have, and that was not written here":          {"", "9", "", "", false},
		"one that is gone is gone":                                                 {"", "", "9", "", true},
		"a version that is no number is not believed":                              {"five", "9", "5", "9", true},
		"what was written last counts, and the cache has only what came before it": {"7", "8", "8", "8", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			cache, api := &versions{version: test.cache}, &versions{version: test.api}
			r := New(cache, api)
			key := client.ObjectKey{Namespace: "team", Name: "lock"}
			if test.wrote != "" {
				r.Wrote(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: test.wrote}})
			}
			var got coordinationv1.Lease
			err := r.Get(t.Context(), key, &got)
			if (err != nil) != (test.want == "") || err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			if got.ResourceVersion != test.want || api.asked > 0 != test.live {
				t.Errorf("got version %q with %d questions to the API", got.ResourceVersion, api.asked)
			}
		})
	}
}

// Of two writes the later one counts, whichever is told last.
func TestTheLaterWriteCounts(t *testing.T) {
	cache, api := &versions{version: "9"}, &versions{version: "10"}
	r := New(cache, api)
	key := client.ObjectKey{Namespace: "team", Name: "lock"}
	for _, version := range []string{"8", "10", "9"} {
		r.Wrote(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: version}})
	}
	var got coordinationv1.Lease
	if err := r.Get(t.Context(), key, &got); err != nil || got.ResourceVersion != "10" {
		t.Errorf("got version %q, %v", got.ResourceVersion, err)
	}
}

// answer is a cache or an API with one Lease, as it answers.
type answer struct {
	client.Reader
	json string
}

// Get reads as clients do: into the object as it is.
func (a answer) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return json.Unmarshal([]byte(a.json), obj)
}

// What was taken out of an object by a write from here does not come back with what the cache still
// has.
func TestNothingOfTheCacheShinesThrough(t *testing.T) {
	r := New(
		answer{json: `{"metadata":{"name":"lock","namespace":"team","resourceVersion":"5","annotations":{"held":"yes"}},"spec":{"holderIdentity":"me"}}`},
		answer{json: `{"metadata":{"name":"lock","namespace":"team","resourceVersion":"6","annotations":{"other":"yes"}},"spec":{}}`})
	key := client.ObjectKey{Namespace: "team", Name: "lock"}
	want := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: "6", Annotations: map[string]string{"other": "yes"}}}
	r.Wrote(&want)
	var got coordinationv1.Lease
	if err := r.Get(t.Context(), key, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the cache has caught up with is remembered no longer: the memory is bounded by the writes of
// a moment.
func TestNothingIsRememberedForLong(t *testing.T) {
	cache, api := &versions{version: "5"}, &versions{version: "6"}
	r := New(cache, api)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lock", ResourceVersion: "6"}}
	r.Wrote(lease)
	key := client.ObjectKeyFromObject(lease)
	if err := r.Get(t.Context(), key, lease); err != nil || len(r.written) != 1 {
		t.Fatal(err, r.written)
	}
	cache.version = "6"
	if err := r.Get(t.Context(), key, lease); err != nil || len(r.written) != 0 {
		t.Fatal(err, r.written)
	}
	r.Wrote(lease)
	cache.version, api.version = "", ""
	if err := r.Get(t.Context(), key, lease); !apierrors.IsNotFound(err) || len(r.written) != 0 {
		t.Fatal(err, r.written)
	}
}
