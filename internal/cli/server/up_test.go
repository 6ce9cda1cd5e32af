// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	server "github.com/yuba-dev/yuba/internal/app"
)

func TestDevAllowsTheWorkingDirectory(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	o := server.Common{FileSources: []string{"/srv/git"}}
	if err := allowDev(&o); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.FileSources, []string{"/srv/git", here}) || !slices.Equal(o.SQLiteSources, []string{here}) || !o.AllowCrossNamespace {
		t.Errorf("%+v", o)
	}
}

func TestEndpointsOfContractStores(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"vault.example.internal:8200": true, "10.0.0.7:9000": true, "[fd00::1]:9000": true, "localhost:1": true,
		"vault.example.internal": false, "http://vault:8200": false, "Vault:8200": false, "*.internal:8200": false, ":8200": false, "vault:": false, "vault:http": false, "vault:70000": false, "": false,
	} {
		if err := checkStoreEndpoints(&cobra.Command{}, []string{endpoint}); (err == nil) != want {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
