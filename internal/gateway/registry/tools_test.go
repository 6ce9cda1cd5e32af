// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
)

// toolSite is a registry that keeps the releases of an origin.
type toolSite struct {
	*site
	releases *releasetest.Releases
	// operator may make it fetch others.
	operator string
}

func newToolSite(t *testing.T, allow ...string) *toolSite {
	t.Helper()
	s := &toolSite{releases: releasetest.New(t)}
	s.releases.Publish("1.9.1", []byte("#!/bin/sh\necho OpenTofu 1.9.1\n"))
	rules, err := opentofu.ParseAllow(allow)
	if err != nil {
		t.Fatal(err)
	}
	token, grant, err := access.NewGrant("operator", access.Rights{Write: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	s.operator = token
	s.site = newSite(t, func(inner *site, o *registry.Options) {
		o.Tools = &opentofu.Kept{Bucket: inner.bucket, Spool: download.Staging(t.TempDir()), Allow: rules, Sources: map[string]opentofu.Source{
			opentofu.Tofu: {URL: s.releases.URL, KeyFile: s.releases.KeyFile}, opentofu.Terraform: {Tool: opentofu.Terraform, URL: s.releases.URL}}}
		if o.Access, err = access.NewStatic([]access.Grant{grant}); err != nil {
			t.Fatal(err)
		}
	})
	return s
}

func TestKeptToolsAreServedToEverybody(t *testing.T) {
	s := newToolSite(t)
	archive, sums := "/v1/tools/tofu/v1.9.1/"+releasetest.ArchiveName("1.9.1"), "/v1/tools/tofu/v1.9.1/"+releasetest.Sums("1.9.1")
	for _, path := range []string{archive, sums} {
		if answer, text := s.ask("GET", path, ""); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s, not kept, without a token: %s %s", path, answer.Status, text)
		}
	}
	if asked := s.releases.Asked(); len(asked) != 0 {
		t.Errorf("a stranger made the registry ask for %q", asked)
	}
	if answer, text := s.ask("GET", "/v1/tools/tofu/api.json", ""); answer.StatusCode != http.StatusOK || strings.TrimSpace(text) != `{"versions":[]}` {
		t.Errorf("the list of nothing: %s %s", answer.Status, text)
	}
	answer, content := s.ask("GET", archive, s.operator)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", answer.Status, content)
	}
	// It is kept now, with its signed sums.
	if err := os.RemoveAll(s.releases.Dir); err != nil {
		t.Fatal(err)
	}
	if answer, again := s.ask("GET", archive, ""); answer.StatusCode != http.StatusOK || again != content {
		t.Errorf("%s, %d bytes", answer.Status, len(again))
	}
	line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), releasetest.ArchiveName("1.9.1"))
	if answer, text := s.ask("GET", sums, ""); answer.StatusCode != http.StatusOK || text != line {
		t.Errorf("%s %q, want %q", answer.Status, text, line)
	}
	if answer, _ := s.ask("GET", sums+".gpgsig", ""); answer.StatusCode != http.StatusOK {
		t.Errorf("the signature: %s", answer.Status)
	}
	if answer, text := s.ask("GET", "/v1/tools/tofu/api.json", ""); !strings.Contains(text, `"id":"1.9.1"`) || !strings.Contains(text, releasetest.ArchiveName("1.9.1")) {
		t.Errorf("the list: %s %s", answer.Status, text)
	}
}

// A laptop installs from the registry as from any mirror, and verifies the maker's signature itself.
func TestALaptopInstallsFromTheRegistry(t *testing.T) {
	s := newToolSite(t)
	if answer, text := s.ask("GET", "/v1/tools/tofu/v1.9.1/"+releasetest.ArchiveName("1.9.1"), s.operator); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", answer.Status, text)
	}
	plain := httptest.NewServer(s.http.Config.Handler) // the certificate is another subject
	defer plain.Close()
	got, err := opentofu.Install(t.Context(), opentofu.Source{URL: plain.URL + "/v1/tools/tofu", KeyFile: s.releases.KeyFile}, t.TempDir(), "1.9.1", nil)
	if err != nil || got.Signer == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if out, err := exec.Command(got.Path).Output(); err != nil || string(out) != "OpenTofu 1.9.1\n" {
		t.Errorf("it says %q, %v", out, err)
	}
}

func TestWhichToolsThereAreNot(t *testing.T) {
	s := newToolSite(t)
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/v1/tools/packer/1.0.0/packer_1.0.0_SHA256SUMS":            {http.StatusNotFound, "the tools are tofu and terraform"},
		"/v1/tools/tofu/v1.9.1/terraform_1.9.1_linux_amd64.zip":     {http.StatusNotFound, "archives such as tofu_1.9.1_linux_amd64.tar.gz"},
		"/v1/tools/tofu/v1.9.1/record.json":                         {http.StatusNotFound, "archives such as"},
		"/v1/tools/tofu/v1.9.1/tofu_1.9.1_plan9_mips.tar.gz":        {http.StatusNotFound, "tofu_1.9.1_SHA256SUMS does not list it"},
		"/v1/tools/tofu/v1.9.2/tofu_1.9.2_SHA256SUMS":               {http.StatusNotFound, "this version may not exist"},
		"/v1/tools/tofu/index.json":                                 {http.StatusNotFound, "tofu/api.json"},
		"/v1/tools/terraform/1.5.7/terraform_1.5.7_linux_amd64.zip": {http.StatusNotFound, "the file does not exist"},
		"/v1/tools/tofu?version=1.9.1":                              {http.StatusNotFound, "does not have this address"},
	} {
		if answer, text := s.ask("GET", path, s.operator); answer.StatusCode != want.status || !strings.Contains(text, want.says) {
			t.Errorf("%s: %s %s", path, answer.Status, text)
		}
	}
	s.releases.Write("1.9.1", releasetest.ArchiveName("1.9.1"), []byte("something else"))
	if answer, text := s.ask("GET", "/v1/tools/tofu/v1.9.1/"+releasetest.ArchiveName("1.9.1"), s.operator); answer.StatusCode != http.StatusBadGateway || !strings.Contains(text, "damaged or replaced") {
		t.Errorf("another archive: %s %s", answer.Status, text)
	}
}

// wanted asks for a tool as a run does, and returns what the run's stack is told meanwhile.
func (s *toolSite) wanted(query url.Values) (status int, text string, told []string) {
	s.t.Helper()
	var mu sync.Mutex
	run := registry.RunRequest{Who: registry.ServiceAccount("team", "tf-runner"), For: "stack team/vpc", Tell: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}}
	w := httptest.NewRecorder()
	s.server.ServeRun(run).ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), "GET", "/v1/tools/tofu?"+query.Encode(), nil))
	return w.Code, w.Body.String(), told
}

func TestRunsGetAllowedTools(t *testing.T) {
	query := url.Values{"version": {"1.9.1"}, "os": {runtime.GOOS}, "arch": {runtime.GOARCH}}
	s := newToolSite(t, "opentofu ~> 1.9.0")
	status, text, told := s.wanted(query)
	var got opentofu.Provision
	if err := json.Unmarshal([]byte(text), &got); status != http.StatusOK || err != nil || got.Version != "1.9.1" || got.SHA256 == "" {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	if len(told) < 2 || !strings.Contains(told[0], "Downloading OpenTofu 1.9.1 for ") || told[len(told)-1] != "" {
		t.Errorf("told %q", told)
	}
	if _, _, told := s.wanted(query); len(told) != 0 {
		t.Errorf("about a kept one, it is told %q", told)
	}
	query.Set("version", "1.10.0")
	if status, text, _ := s.wanted(query); status != http.StatusNotFound || !strings.Contains(text, "may only download tofu ~") {
		t.Errorf("another version: %d %s", status, text)
	}
	query.Set("version", "1.9.9")
	if status, text, told := s.wanted(query); status != http.StatusBadGateway || !strings.Contains(text, "v1.9.9/tofu_1.9.9_SHA256SUMS") || !slices.Contains(told, "") {
		t.Errorf("one that does not exist: %d %s %q", status, text, told)
	}
	nothing := newToolSite(t)
	query.Set("version", "1.9.1")
	if status, text, _ := nothing.wanted(query); status != http.StatusNotFound || !strings.Contains(text, "yuba up --tools-allow 'tofu 1.9.1'") {
		t.Errorf("without --tools-allow: %d %s", status, text)
	}
	if asked := nothing.releases.Asked(); len(asked) != 0 {
		t.Errorf("without --tools-allow, it asked for %q", asked)
	}
}
