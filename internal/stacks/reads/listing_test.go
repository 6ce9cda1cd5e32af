// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Who judges code by a listing must see that something is missing.
func TestAListingNamesWhatItCannotShow(t *testing.T) {
	sources, store, _ := newSources(t)
	digest := packed(t, store, map[string]string{"s/main.tf": "# main", "s/main.tf.tpl": "# template", "s/payload.txt": "# payload", "s/evil.tf": "-> payload.txt", "s/same.tf": "-> main.tf"})
	sums, config, err := sources.Listing(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"s/evil.tf", "s/main.tf", "s/main.tf.tpl", "s/payload.txt", "s/same.tf"}, slices.Sorted(maps.Keys(sums))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"main.tf", "same.tf"}, slices.Sorted(maps.Keys(config("s")))); diff != "" {
		t.Error(diff)
	}
}
