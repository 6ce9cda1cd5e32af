// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/publish"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("# nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func plain(t *testing.T, args ...string) called {
	t.Helper()
	out, news, code := yubaWithoutServer(t, args...)
	return called{out, news, code}
}

func TestArtifactsArePublished(t *testing.T) {
	registry := ocitest.New(t)
	ref, dir := registry.URL("iac/network")+":1.4.0", program(t)
	pushed := plain(t, "push", "artifact", ref, "--path", dir, "--source", "https://example.com", "--revision", "1.4.0@sha1:0123", "-a", "org.example.team=net")
	if !strings.HasPrefix(pushed.out, registry.URL("iac/network")+"@sha256:") {
		t.Errorf("got %q, %s", pushed.out, pushed.news)
	}
	pushed.want(t, ui.ExitOK, pushed.out, "Pushed 1 file in ", " as "+registry.Host()+"/iac/network:1.4.0.")
	again := plain(t, "push", "artifact", ref, "-f", dir, "--source", "https://example.com", "--revision", "1.4.0@sha1:0123", "-a", "org.example.team=net", "-o", "json")
	var answer publish.Pushed
	if err := json.Unmarshal([]byte(again.out), &answer); err != nil || answer.URL != strings.TrimSpace(pushed.out) || answer.Tag != "1.4.0" {
		t.Errorf("got %s, %v", again.out, err)
	}
	plain(t, "tag", "artifact", ref, "--tag", "stable,1").want(t, ui.ExitOK, registry.URL("iac/network")+":stable\n"+registry.URL("iac/network")+":1\n")
	list := plain(t, "list", "artifacts", registry.URL("iac/network"), "--semver-filter", ">=1.1.0", "-o", "wide")
	list.out = columnsOf(list.out, answer.Digest)
	list.want(t, ui.ExitOK, "ARTIFACT  DIGEST  SOURCE  REVISION\n"+ref+"  NS  https://example.com  1.4.0@sha1:0123\n")
	plain(t, "list", "artifacts", registry.URL("iac/network"), "--filter-regex", "^9$").want(t, ui.ExitOK, "", "No artifacts found in")
	out := filepath.Join(t.TempDir(), "out")
	plain(t, "pull", "artifact", ref, "--output", out).want(t, ui.ExitOK, answer.Digest+"\n", "Extracted "+ref+" into "+out+".", "Revision    1.4.0@sha1:0123")
	if data, err := os.ReadFile(filepath.Join(out, "main.tf")); err != nil || string(data) != "# nothing" {
		t.Errorf("got %q, %v", data, err)
	}
	plain(t, "pull", "artifact", ref, "--output", out).want(t, ui.ExitFailure, "", "is not empty")
	plain(t, "pull", "artifact", registry.URL("iac/network")+":9", "-o", filepath.Join(out, "x")).want(t, ui.ExitNotFound, "", "yuba list artifacts oci://")
}

func TestTheTimeOfAnArtifact(t *testing.T) {
	registry := ocitest.New(t)
	dir := program(t)
	created := func(args ...string) string {
		t.Helper()
		plain(t, append([]string{"push", "artifact", registry.URL("app") + ":1", "--path", dir, "--source", "s", "--revision", "r"}, args...)...)
		var list []publish.Artifact
		if got := plain(t, "list", "artifacts", registry.URL("app"), "-o", "json"); json.Unmarshal([]byte(got.out), &list) != nil || len(list) != 1 {
			t.Fatalf("got %s%s", got.out, got.news)
		}
		return list[0].Created
	}
	if got := created(); got != "1970-01-01T00:00:00Z" {
		t.Errorf("reproducible: %s", got)
	}
	if got := created("--reproducible=false"); strings.HasPrefix(got, "1970") {
		t.Errorf("with the time: %s", got)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	if got := created(); got != "1970-01-02T00:00:00Z" {
		t.Errorf("as the environment says: %s", got)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "today")
	plain(t, "push", "artifact", registry.URL("app")+":1", "--path", dir, "--source", "s", "--revision", "r").want(t, ui.ExitUsage, "", "want the seconds since 1970")
}

func TestCredentialsOfARegistry(t *testing.T) {
	registry := ocitest.New(t, ocitest.BasicAuth("ci", "s3cret"))
	file := filepath.Join(t.TempDir(), "creds")
	if err := os.WriteFile(file, []byte("ci:s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	push := []string{"push", "artifact", registry.URL("app") + ":1", "--path", program(t), "--source", "s", "--revision", "r"}
	plain(t, push...).want(t, ui.ExitFailure, "", "docker login")
	if got := plain(t, append(push, "--creds-file", file)...); got.code != ui.ExitOK {
		t.Error(got.news)
	}
	if got := plain(t, append(push, "--creds", "ci:s3cret", "--provider", "generic")...); got.code != ui.ExitOK {
		t.Error(got.news)
	}
	if got := plain(t, append(push, "--creds", "ci:wr0ng")...); got.code != ui.ExitFailure || strings.Contains(got.news, "wr0ng") {
		t.Errorf("code %d: %s", got.code, got.news)
	}
	plain(t, append(push, "--creds-file", "-")...).want(t, ui.ExitFailure, "", "- is empty")
	plain(t, append(push, "--creds-file", file, "--creds", "a:b")...).want(t, ui.ExitUsage, "", "not both")
	plain(t, append(push, "--provider", "aws")...).want(t, ui.ExitUsage, "", "credential helper")
}

func TestWrongCommandLinesAboutArtifacts(t *testing.T) {
	for line, want := range map[string]string{
		"push artifact oci://example.com/a:1":                                         "--path is missing",
		"push artifact oci://example.com/a:1 --path .":                                "--source is missing",
		"push artifact oci://example.com/a:1 --path . --source s":                     "--revision is missing",
		"push artifact oci://example.com/a:1 --path . --source s --revision r -a x":   "want KEY=VALUE",
		"push artifact example.com/a:1 --path . --source s --revision r":              "must begin with oci://",
		"push artifact oci://e.com/a --path - --creds-file - --source s --revision r": "cannot both be standard input",
		"tag artifact oci://example.com/a:1":                                          "--tag is missing",
		"pull artifact oci://example.com/a:1":                                         "--output is missing",
		"pull nope":                                                                   `there is no command "yuba pull nope"`,
		"push artifact":                                                               "an argument is missing",
	} {
		t.Run(line, func(t *testing.T) { plain(t, strings.Fields(line)...).want(t, ui.ExitUsage, "", want) })
	}
}
