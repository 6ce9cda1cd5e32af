// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFoldersAreListedOneLevelAtATime(t *testing.T) {
	stores(t, func(t *testing.T, store *Store) {
		for _, key := range []string{"runs/a/vpc/1/record.json", "runs/a/vpc/2/record.json", "runs/a/web/1/log", "runs/b/x/y", "runs/file", "runsome/z/y"} {
			put(t, store, key, "x")
		}
		for prefix, want := range map[string][]string{
			"runs/":       {"runs/a/", "runs/b/"},
			"runs/a/":     {"runs/a/vpc/", "runs/a/web/"},
			"runs/a/web/": {"runs/a/web/1/"},
			"runs/b/x/":   nil,
			"nothing/":    nil,
		} {
			var got []string
			for folder, err := range store.Folders(t.Context(), prefix) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, folder)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("below %s (-want +got):\n%s", prefix, diff)
			}
		}
		for _, prefix := range []string{"", "runs", "../", "/", "runs//"} {
			for folder, err := range store.Folders(t.Context(), prefix) {
				if err == nil {
					t.Errorf("below %q there is %s", prefix, folder)
				}
			}
		}
	})
}
