// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An archive that unpacks to more than a package can have ends the download, and nothing of it
// stays.
func TestADownloadThatGetsTooLargeIsEnded(t *testing.T) {
	store, err := Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	store.maxBytes = 1 << 20
	want := Want{Address: Address{"registry.example", "acme", "thing"}, Version: "1.2.3"}
	for sentence, fill := range map[string]func(dir string) error{
		"bytes": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "bomb"), make([]byte, store.maxBytes+1), 0o600)
		},
		"files": func(dir string) error {
			for i := range 2*maxPackageFiles + 1 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("bomb-%d", i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		_, err := store.Scope("").Get(t.Context(), want, func(ctx context.Context, dir, _ string, _ Address) error {
			if err := fill(dir); err != nil {
				return err
			}
			<-ctx.Done() // it would go on and on
			return context.Cause(ctx)
		})
		if err == nil || !strings.Contains(err.Error(), "which no provider has") {
			t.Errorf("too many %s: %v", sentence, err)
		}
		if left, _ := filepath.Glob(filepath.Join(store.dir, stagingName, "fetch-*")); len(left) > 0 {
			t.Errorf("too many %s: left behind: %v", sentence, left)
		}
	}
}
