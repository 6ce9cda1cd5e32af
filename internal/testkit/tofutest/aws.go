// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"os"
	"path/filepath"
	"testing"
)

// AWSMirror returns a mirror of providers that contains hashicorp/aws with its services SSM and S3.
func AWSMirror(t testing.TB) string {
	t.Helper()
	mirror := filepath.Join(RepositoryRoot(t), "bin", "provider-aws")
	if _, err := os.Stat(mirror); err != nil {
		t.Fatal("there is no AWS provider. Build it:\n    make bin/provider-aws")
	}
	return mirror
}
