// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// tree writes files with the modes of umask 022; names that end with ! are executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, "!") {
			name, mode = strings.TrimSuffix(name, "!"), 0o755
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	every(t, dir, func(path string, info os.FileInfo) {
		if info.IsDir() {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	})
	return dir
}

func every(t *testing.T, dir string, visit func(path string, info os.FileInfo)) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			visit(path, info)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	every(t, dir, func(path string, info os.FileInfo) {
		if info.IsDir() {
			return
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, path)
		if info.Mode()&0o111 != 0 {
			name += "!"
		}
		files[filepath.ToSlash(name)] = string(data)
	})
	return files
}

func push(t *testing.T, ref string, o PushOptions) Pushed {
	t.Helper()
	o.Source, o.Revision = "https://example.com/app", "main@sha1:0123"
	pushed, err := Push(context.Background(), ref, o)
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

var program = map[string]string{
	"main.tf": "resource \"null_resource\" \"a\" {}", "modules/net/net.tf": "# net", "scripts/run.sh!": "#!/bin/sh\n", "a.txt": "",
}

func TestPushIsEquivalentToFlux(t *testing.T) {
	registry := ocitest.New(t)
	dir := tree(t, program)
	pushed := push(t, registry.URL("app")+":1.0.0", PushOptions{Path: dir})

	flux := oci.NewClient(registry.Options())
	name, err := flux.Push(context.Background(), registry.Host()+"/flux:1.0.0", dir, oci.WithPushIgnorePaths(DefaultIgnore()...),
		oci.WithPushMetadata(oci.Metadata{Source: "https://example.com/app", Revision: "main@sha1:0123", Created: "1970-01-01T00:00:00Z"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, digest, _ := strings.Cut(name, "@"); digest != pushed.Digest {
		t.Errorf("Flux's digest is %s, ours is %s", digest, pushed.Digest)
	}
	want := Pushed{URL: registry.URL("app") + "@" + pushed.Digest, Repository: registry.Host() + "/app", Tag: "1.0.0", Digest: pushed.Digest,
		Files: 4, Size: pushed.Size}
	if diff := cmp.Diff(want, pushed); diff != "" {
		t.Error(diff)
	}
	out := t.TempDir()
	meta, err := flux.Pull(context.Background(), registry.Host()+"/app:1.0.0", out)
	if err != nil {
		t.Fatal(err)
	}
	if meta.Source != "https://example.com/app" || meta.Revision != "main@sha1:0123" {
		t.Errorf("Flux reads source %q, revision %q", meta.Source, meta.Revision)
	}
	if diff := cmp.Diff(program, contents(t, out)); diff != "" {
		t.Errorf("the files that Flux unpacks (-want +got):\n%s", diff)
	}
}

func TestTheDigestDependsOnlyOnTheContent(t *testing.T) {
	registry := ocitest.New(t)
	first := push(t, registry.URL("app")+":a", PushOptions{Path: tree(t, program)})
	other := tree(t, program)
	every(t, other, func(path string, info os.FileInfo) {
		if err := os.Chtimes(path, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode()&0o700); err != nil { // as with the umask 077
			t.Fatal(err)
		}
	})
	if second := push(t, registry.URL("app")+":b", PushOptions{Path: other}); second.Digest != first.Digest {
		t.Errorf("got %s and %s", first.Digest, second.Digest)
	}
	dated := push(t, registry.URL("app")+":c", PushOptions{Path: other, Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)})
	if dated.Digest == first.Digest {
		t.Error("the annotation lacks the given time")
	}
	list, err := List(context.Background(), registry.URL("app"), ListOptions{Pattern: "^c$"})
	if err != nil || len(list) != 1 || list[0].Created != "2026-01-02T03:04:05Z" {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestExcludedFiles(t *testing.T) {
	registry := ocitest.New(t)
	dir := tree(t, map[string]string{"main.tf": "m", "deploy/a.yaml": "a", "logo.png": "p", ".git/config": "secret", ".gitignore": "x",
		"terraform.tfstate": "secret", "sub/terraform.tfstate.backup": "secret", "sub/.terraform/modules/x": "x", "sub/crash.log": "secret"})
	if err := os.Symlink("main.tf", filepath.Join(dir, "link.tf")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ignore []string
		want   map[string]string
	}{
		"by itself":             {nil, map[string]string{"main.tf": "m", "deploy/a.yaml": "a"}},
		"with other patterns":   {[]string{"*.tf"}, map[string]string{"deploy/a.yaml": "a", "logo.png": "p", ".gitignore": "x"}},
		"all but one directory": {[]string{"/*", "!/deploy"}, map[string]string{"deploy/a.yaml": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			pushed := push(t, registry.URL("app")+":1", PushOptions{Path: dir, Ignore: c.ignore})
			out := filepath.Join(t.TempDir(), "out")
			if _, err := Pull(context.Background(), registry.URL("app")+":1", out, Access{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, contents(t, out)); diff != "" {
				t.Error(diff)
			}
			if len(c.ignore) < 2 && !cmp.Equal(pushed.Links, []string{"link.tf"}) && c.ignore == nil {
				t.Errorf("excluded links: %q", pushed.Links)
			}
		})
	}
	_, err := Push(context.Background(), registry.URL("app")+":1", PushOptions{Path: dir, Ignore: []string{"*"}})
	if err == nil || !strings.Contains(err.Error(), "no file that is not ignored") {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestOneFileAndAStream(t *testing.T) {
	registry := ocitest.New(t)
	push(t, registry.URL("app")+":file", PushOptions{Path: filepath.Join(tree(t, map[string]string{"x.yaml": "kind: X"}), "x.yaml")})
	stream := push(t, registry.URL("app")+":stream", PushOptions{Stream: strings.NewReader("kind: Y")})
	if again := push(t, registry.URL("app")+":again", PushOptions{Stream: strings.NewReader("kind: Y")}); again.Digest != stream.Digest {
		t.Error("equal streams have different digests")
	}
	for tag, want := range map[string]map[string]string{"file": {"x.yaml": "kind: X"}, "stream": {"manifest.yaml": "kind: Y"}} {
		out := filepath.Join(t.TempDir(), "out")
		if _, err := Pull(context.Background(), registry.URL("app")+":"+tag, out, Access{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, contents(t, out)); diff != "" {
			t.Errorf("%s: %s", tag, diff)
		}
	}
}

func TestProgressIsReported(t *testing.T) {
	registry := ocitest.New(t)
	var sent, all atomic.Int64
	pushed := push(t, registry.URL("app")+":1", PushOptions{Path: tree(t, program), Progress: func(s, a int64) { sent.Store(s); all.Store(a) }})
	if sent.Load() < pushed.Size || all.Load() != sent.Load() {
		t.Errorf("the progress is %d of %d, the layer has %d", sent.Load(), all.Load(), pushed.Size)
	}
	registry.SetFault(faulttest.Answer(403))
	if _, err := Push(context.Background(), registry.URL("app")+":1", PushOptions{Path: tree(t, program), Progress: func(int64, int64) {}}); err == nil {
		t.Error("the registry's error was lost")
	}
}

func TestTags(t *testing.T) {
	registry := ocitest.New(t)
	pushed := push(t, registry.URL("app")+":1.0.0", PushOptions{Path: tree(t, program)})
	made, err := Tag(context.Background(), registry.URL("app")+"@"+pushed.Digest, []string{"stable", "latest"}, Access{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{registry.URL("app") + ":stable", registry.URL("app") + ":latest"}, made); diff != "" {
		t.Error(diff)
	}
	if digest, err := crane.Digest(registry.Host()+"/app:stable", registry.Options()...); err != nil || digest != pushed.Digest {
		t.Errorf("stable is %s, %v", digest, err)
	}
	if _, err := Tag(context.Background(), registry.URL("app")+":1.0.0", []string{"a b"}, Access{}); err == nil || !strings.Contains(err.Error(), "not a valid tag") {
		t.Errorf("a bad tag: %v", err)
	}
	if _, err := Tag(context.Background(), registry.URL("app")+":9", []string{"x"}, Access{}); !IsNotFound(err) {
		t.Errorf("a missing artifact: %v", err)
	}
	if _, err := Push(context.Background(), pushed.URL, PushOptions{Path: "."}); err == nil || !strings.Contains(err.Error(), "name a tag") {
		t.Errorf("pushed to a digest: %v", err)
	}
}

func TestList(t *testing.T) {
	registry := ocitest.New(t)
	dir := tree(t, program)
	for _, tag := range []string{"1.2.0", "v1.10.0", "1.9.1", "2.0.0-rc.1", "main", "edge", "sha256-0123.sig"} {
		push(t, registry.URL("team/app")+":"+tag, PushOptions{Path: dir})
	}
	for name, c := range map[string]struct {
		options ListOptions
		want    []string
	}{
		"all: versions first, the highest first": {ListOptions{}, []string{"2.0.0-rc.1", "v1.10.0", "1.9.1", "1.2.0", "edge", "main"}},
		"in a range":                             {ListOptions{Range: "1.x"}, []string{"v1.10.0", "1.9.1", "1.2.0"}},
		"before a release, too":                  {ListOptions{Range: ">=1.9.0-0"}, []string{"2.0.0-rc.1", "v1.10.0", "1.9.1"}},
		"by a pattern":                           {ListOptions{Pattern: "^(main|1.2.0)$"}, []string{"1.2.0", "main"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := List(context.Background(), registry.URL("team/app"), c.options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, artifact := range list {
				got = append(got, strings.TrimPrefix(artifact.URL, registry.URL("team/app")+":"))
				if artifact.Revision != "main@sha1:0123" || !strings.HasPrefix(artifact.Digest, "sha256:") {
					t.Errorf("got %+v", artifact)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := List(context.Background(), registry.URL("nope"), ListOptions{}); !IsNotFound(err) {
		t.Errorf("a missing repository: %v", err)
	}
	for _, o := range []ListOptions{{Range: "latest!"}, {Pattern: "("}} {
		if _, err := List(context.Background(), registry.URL("team/app"), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestCredentials(t *testing.T) {
	registry := ocitest.New(t, ocitest.BasicAuth("ci", "s3cret"))
	dir := tree(t, program)
	ref := registry.URL("app") + ":1"
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for name, credentials := range map[string]string{"none": "", "wrong ones": "ci:wr0ng"} {
		_, err := Push(context.Background(), ref, PushOptions{Path: dir, Access: Access{Credentials: credentials}})
		switch {
		case err == nil:
			t.Errorf("%s were accepted", name)
		case !strings.Contains(err.Error(), "docker login") || strings.Contains(err.Error(), "wr0ng"):
			t.Errorf("%s: %v", name, err)
		}
	}
	push(t, ref, PushOptions{Path: dir, Access: Access{Credentials: "ci:s3cret"}})
	config := t.TempDir()
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, registry.Host(), base64.StdEncoding.EncodeToString([]byte("ci:s3cret")))
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", config)
	push(t, ref, PushOptions{Path: dir})
	if _, err := List(context.Background(), registry.URL("app"), ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestUntrustedCertificates(t *testing.T) {
	registry := ocitest.New(t, ocitest.TLS())
	dir := tree(t, program)
	if _, err := Push(context.Background(), registry.URL("app")+":1", PushOptions{Path: dir}); err == nil {
		t.Error("the certificate was accepted")
	}
	push(t, registry.URL("app")+":1", PushOptions{Path: dir, Access: Access{Insecure: true}})
}

func TestReferencesThatAreInvalid(t *testing.T) {
	for ref, want := range map[string]string{
		"registry.example.com/app:1":               "must begin with oci://",
		"oci://registry.example.com/App:1":         "repository can only contain",
		"oci://":                                   "not the address of an artifact",
		"oci://ci:s3cret@registry.example.com/app": "must not contain credentials",
		"oci://registry.example.com//app":          "not the address of an artifact",
	} {
		_, err := Pull(context.Background(), ref, t.TempDir(), Access{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestArchivesAreLimited(t *testing.T) {
	var sink bytes.Buffer
	b := &bounded{w: &sink, n: 1<<30 - 3}
	if _, err := b.Write([]byte("abc")); err != nil {
		t.Errorf("the last bytes: %v", err)
	}
	if _, err := b.Write([]byte("d")); err == nil {
		t.Error("a further byte was accepted")
	}
}
