// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestSuperfluousVersions(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	version := func(id, run string, serial uint64, age time.Duration) Version {
		return Version{ID: id, RunID: run, Serial: serial, Time: now.Add(-age)}
	}
	four := []Version{version("a", "1", 1, 400*day), version("b", "2", 2, 200*day), version("c", "3", 3, 95*day), version("d", "4", 4, 92*day)}
	long := []Version{version("a", "1", 1, 9*day), version("b", "2", 2, 5*day), version("c", "2", 3, 5*day), version("d", "2", 4, 5*day), version("e", "3", 5, 4*day)}
	cases := map[string]struct {
		versions []Version
		needed   string
		keep     Keep
		want     []string
	}{
		"all are kept":                            {versions: four},
		"the last stays however old it is":        {versions: four[:1], keep: Keep{Versions: 1, Age: day}},
		"the age counts from what took its place": {versions: four, keep: Keep{Age: 93 * day}, want: []string{"a", "b"}},
		"beyond the number the oldest go":         {versions: four, keep: Keep{Versions: 2}, want: []string{"a", "b"}},
		"one that is needed stays":                {versions: four, needed: "a", keep: Keep{Versions: 2}, want: []string{"b", "c"}},
		"that with the highest serial stays":      {versions: []Version{version("a", "1", 9, 9*day), version("b", "2", 2, 8*day), version("c", "3", 3, 7*day)}, keep: Keep{Versions: 1}, want: []string{"b"}},
		"what was just written stays":             {versions: []Version{version("a", "1", 1, 9*time.Minute), version("b", "2", 2, 8*time.Minute)}, keep: Keep{Versions: 1}},
		"first goes what a run wrote on its way":  {versions: long, keep: Keep{Versions: 3}, want: []string{"b", "c"}},
		"then the oldest":                         {versions: long, keep: Keep{Versions: 2}, want: []string{"b", "c", "a"}},
		"none at all":                             {keep: Keep{Versions: 1, Age: day}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := superfluous(c.versions, func(v Version) bool { return v.ID == c.needed }, c.keep, now)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ids are the versions that are there, as numbers of what was written, newest last.
func (f *fixture) kept(written []Version) []int {
	f.t.Helper()
	var kept []int
	for version, err := range f.Versions(f.t.Context(), f.key) {
		if err != nil {
			f.t.Fatal(err)
		}
		kept = append(kept, slices.IndexFunc(written, func(v Version) bool { return v.ID == version.ID }))
	}
	slices.Reverse(kept)
	return kept
}

// prune prunes as if a day had gone by.
func (f *fixture) prune(runID string, keep Keep) int {
	f.t.Helper()
	n, err := f.Prune(f.t.Context(), f.key, runID, keep, time.Now().Add(24*time.Hour))
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *fixture) several(n int) []Version {
	f.t.Helper()
	var written []Version
	previous := Mark{}
	for i := range n {
		data := aState(i+1, fmt.Sprint(i))
		written = append(written, f.write(fmt.Sprintf("run-%d", i), previous, data))
		previous = markOf(uint64(i+1), data)
	}
	return written
}

func TestPruneOfVersions(t *testing.T) {
	f := newFixture(t)
	written := f.several(6)
	if n := f.prune("run-1", Keep{Versions: 3}); n != 3 {
		t.Errorf("removed %d", n)
	}
	if diff := cmp.Diff([]int{1, 4, 5}, f.kept(written)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if n := f.prune("run-1", Keep{Versions: 3}); n != 0 {
		t.Errorf("removed %d more", n)
	}
	if _, err := f.Rollback(t.Context(), f.key, written[1].ID, By{Holder: LockInfo{ID: "x", Who: "me"}}); err != nil {
		t.Errorf("go back to what was kept: %v", err)
	}
}

func TestWithoutASecretEveryVersionStays(t *testing.T) {
	f := newFixture(t)
	written := f.several(4)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: f.key.SecretName()}}
	if n, there, err := f.PruneGone(t.Context(), f.key, time.Now().Add(time.Hour)); n != 0 || !there || err != nil {
		t.Errorf("removed %d of a state that is there, which is %v, %v", n, there, err)
	}
	if err := apitest.Client(t).Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if n := f.prune("", Keep{Versions: 1, Age: time.Second}); n != 0 || len(f.kept(written)) != 4 {
		t.Errorf("removed %d", n)
	}
	later := time.Now().Add(time.Hour)
	gone := func(before time.Time, want int) {
		t.Helper()
		if n, there, err := f.PruneGone(t.Context(), f.key, before); n != want || there || err != nil || len(f.kept(written)) != 4-want {
			t.Errorf("removed %d, want %d; it is there: %v; %v", n, want, there, err)
		}
	}
	// However old the versions are, their time begins when it is seen that nobody has them.
	gone(later, 0)
	gone(time.Now().Add(-time.Hour), 0)
	// It begins anew after a stack has had them again.
	f.prune("", Keep{})
	gone(later, 0)
	gone(later, 4)
	for info, err := range f.blobs.List(t.Context(), f.key.versionsPrefix()) {
		t.Errorf("%s is left, %v", info.Key, err)
	}
}

func TestTheVersionToWhichTheSecretPointsStays(t *testing.T) {
	f := newFixture(t)
	large := aState(1, noise(3<<20))
	written := []Version{f.write("run-0", Mark{}, large)}
	// Two that were stored and did not make it into the Secret.
	for i := range 2 {
		data := aState(i+2, "x")
		version, err := f.Write(t.Context(), f.key, WriteRequest{Data: data, Previous: markOf(7, data), RunID: fmt.Sprint(i)})
		if err == nil {
			t.Fatal("a write over another's state went through")
		}
		written = append(written, version)
	}
	if n := f.prune("", Keep{Versions: 1, Age: time.Second}); n != 1 {
		t.Errorf("removed %d", n)
	}
	if diff := cmp.Diff([]int{0, 2}, f.kept(written)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got, err := f.Read(t.Context(), f.key); err != nil || got.Digest != statefile.Digest(large) {
		t.Errorf("the state: %v", err)
	}
}

func TestKeyOfASecret(t *testing.T) {
	for name, want := range map[string]bool{"tfstate-default-vpc": true, "tfstate-default-a-b-c": true, "tfstate-a-b-default": true, "tfstate-default-": false, "tfstate-x": false, "other": false} {
		key, ok := KeyOf("team", name)
		if ok != want || ok && (key.SecretName() != name || key.Namespace != "team") {
			t.Errorf("%s: %+v, %v", name, key, ok)
		}
	}
}
