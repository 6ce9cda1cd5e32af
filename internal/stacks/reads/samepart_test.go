// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
)

// packed stores an archive of files and returns its digest.
func packed(t *testing.T, store *blob.Store, files map[string]string) string {
	t.Helper()
	var packed bytes.Buffer
	digest, _, err := archive.Pack(t.Context(), writeTree(t, files), &packed, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.PutArtifact(t.Context(), &packed, 1<<20); err != nil {
		t.Fatal(err)
	}
	return digest
}

func read(t *testing.T, sources *Sources, digest string) *readModule {
	t.Helper()
	m, err := sources.readModule(t.Context(), moduleKey{digest: digest, dir: "stacks/a", varFiles: "vars/a.tfvars"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNothingOfAnUnchangedPartIsReadAgain: a part read from one archive equals that of another.
func TestNothingOfAnUnchangedPartIsReadAgain(t *testing.T) {
	_, store, _ := newSources(t)
	fresh := func() *Sources { return &Sources{Store: store, MaxArchive: 1 << 20} }
	spared := 0
	compare := func(before, after map[string]string, name string) (same bool) {
		sources, one, other := fresh(), packed(t, store, before), packed(t, store, after)
		first := read(t, sources, one)
		second, anew := read(t, sources, other), read(t, fresh(), other)
		if !reflect.DeepEqual(second.part, anew.part) || !reflect.DeepEqual(second.module, anew.module) || !reflect.DeepEqual(second.varFiles, anew.varFiles) {
			t.Errorf("%s: another part or module than that of sources that know nothing:\n%+v\n%+v", name, second.part, anew.part)
		}
		if first.part.digest == "" && first == second && one != other {
			t.Errorf("%s: a module was reused although the whole source counts", name)
		}
		return first == second && one != other
	}
	for name, changed := range map[string]string{"stacks/a/main.tf": "# changed", "stacks/a/files/y.json": "{}", "modules/m/t.txt": "changed", "vars/a.tfvars": "v = 2\n"} {
		if compare(aTree(), withFile(name, changed), name) {
			t.Errorf("a change of %s was not detected", name)
		}
	}
	if !compare(aTree(), withFile("stacks/b/main.tf", "# changed"), "another stack") {
		t.Error("a commit that does not touch a stack has its module read again")
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	for i := range 100 {
		before := randomTree(random)
		after := randomTree(random)
		if i%2 == 0 { // the same, but for a file
			after = alsoWith(maps.Clone(before), []string{"stacks/a/x.txt", "stacks/b/x.txt", "modules/n/x.txt", "stacks/a/sub/x.txt"}[random.IntN(4)], "changed")
		}
		before["vars/a.tfvars"], after["vars/a.tfvars"] = "v = 1\n", "v = 1\n"
		if compare(before, after, "a random tree") {
			spared++
		}
	}
	if spared == 0 {
		t.Error("nothing was ever spared: this test finds out nothing")
	}
}
