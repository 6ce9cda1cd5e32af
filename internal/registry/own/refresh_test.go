// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"testing"
)

// A list takes seconds in a large bucket. What is published meanwhile is not in it, and must not be
// forgotten when it ends.
func TestWhatIsPublishedDuringAListIsThereAfterIt(t *testing.T) {
	for name, list := range map[string]func(*world) error{
		"of all providers": func(w *world) error { return w.refresh(w.t.Context()) },
		"of this one":      func(w *world) error { return w.refreshOne(w.t.Context(), thing) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			meanwhile := func() {
				if _, changed, err := w.publish(one, w.files(one, "linux_amd64")); err != nil || !changed {
					t.Errorf("publish: changed %v, %v", changed, err)
				}
			}
			w.bucket.listed.Store(&meanwhile)
			if err := list(w); err != nil {
				t.Fatal(err)
			}
			if versions, err := w.Versions(t.Context(), thing); err != nil || len(versions) != 1 {
				t.Errorf("%v, %v", versions, err)
			}
			if _, err := w.Describe(t.Context(), one); err != nil {
				t.Error(err)
			}
		})
	}
}
