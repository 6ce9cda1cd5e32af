// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// newModule copies testdata/NAME and initialises it.
func newModule(t *testing.T, name string) *tofutest.Module {
	t.Helper()
	m := tofutest.NewModule(t)
	m.Copy(filepath.Join("testdata", name))
	upstream := filepath.Join(t.TempDir(), "upstream.tfstate")
	err := os.WriteFile(upstream, []byte(`{"version":4,"serial":1,"lineage":"u","outputs":{"o":{"value":"x","type":"string"}}}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	m.Env = append(m.Env, "TF_VAR_upstream="+upstream)
	m.Run("init")
	return m
}
