// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package download

import (
	"os"
	"path/filepath"
	"testing"
)

// Whoever begins a download while somebody cleans up is not in the way, and does not lose what it works in.
func TestCleaningUpWhileOthersBegin(t *testing.T) {
	staging := Staging(t.TempDir())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			if err := staging.Clean(); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 200 {
		s, err := staging.New()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir, "x"), nil, 0o600); err != nil {
			t.Error(err)
		}
		s.Remove()
	}
	<-done
}
