// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// Whoever gets an engine stops it: one that was not made must not be there to be stopped, or the
// stop's panic hides why.
func TestAnEngineThatCannotBeMadeIsNone(t *testing.T) {
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// What should be a file is a directory, as after a mistaken mount.
	if err := os.MkdirAll(filepath.Join(dir.Runner(), run.ConnectionFile), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := newEngine(t.Context(), Common{Log: quiet()}, dir, apitest.API(t).RESTConfig(), tool{})
	if err == nil || !strings.Contains(err.Error(), "read the runner's connection") {
		t.Errorf("the error: %v", err)
	}
	if e != nil {
		t.Error("there is an engine")
	}
}

func TestAnArchiveIsNotFetchedWithoutTLSThatWasAskedForWithIt(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked without TLS") }))
	defer plain.Close()
	source := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer source.Close()
	c := archiveClient()
	c.Transport = source.Client().Transport
	response, err := c.Get(source.URL)
	if err == nil {
		response.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "it redirects from https:// to http://") {
		t.Errorf("error %v", err)
	}
}
