// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"testing"

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
