// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

const app = "team/app"

func wanted(registry *ocitest.Registry, change func(*Repository)) *Repository {
	r := &Repository{URL: registry.URL(app), Timeout: time.Minute, MaxAge: time.Hour}
	if change != nil {
		change(r)
	}
	return r
}

func look(t *testing.T, client *Client, r *Repository, fresh bool) *Artifact {
	t.Helper()
	artifact, err := client.Look(t.Context(), r, fresh)
	if err != nil {
		t.Fatal(err)
	}
	return artifact
}

// files fetches an artifact, and returns its tree.
func files(t *testing.T, artifact *Artifact) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := artifact.Fetch(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var content []byte
			content, err = os.ReadFile(filepath.Join(dir, name))
			found[name] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantFailure checks that an error is a failure for a source's status.
func wantFailure(t *testing.T, err error, reason string, stalled bool, message string) {
	t.Helper()
	var failed *archive.FetchError
	if !errors.As(err, &failed) || failed.Reason != reason || failed.Stalled != stalled || !strings.Contains(failed.Message, message) {
		t.Errorf("got %#v, want %s (stalled: %v) with %q", err, reason, stalled, message)
	}
}

func TestReferences(t *testing.T) {
	registry := ocitest.New(t)
	digests := map[string]string{}
	for _, tag := range []string{"latest", "1.0.0", "1.2.3", "1.10.0", "v1.9.0", "2.0.0-rc.1", "2.0.0-rc.2", "2", "nonsense", "1.2.3-debug"} {
		digests[tag] = registry.Push(t, app, tag, ocitest.Files{"main.tf": tag})
	}
	for sentence, c := range map[string]struct {
		change func(*Repository)
		tag    string
	}{
		"nothing: the tag latest": {nil, "latest"},
		"a tag":                   {func(r *Repository) { r.Tag = "nonsense" }, "nonsense"},
		"a range: the highest version, not by name": {func(r *Repository) { r.SemVer = ">=1.0.0" }, "1.10.0"},
		"a range wins over a tag":                   {func(r *Repository) { r.SemVer, r.Tag = "~1.2", "latest" }, "1.2.3"},
		"versions may begin with v":                 {func(r *Repository) { r.SemVer = "1.9.x" }, "v1.9.0"},
		"a range that includes prereleases":         {func(r *Repository) { r.SemVer = ">=1.0.0-0" }, "2.0.0-rc.2"},
		"a filter":                                  {func(r *Repository) { r.SemVer, r.SemverFilter = ">=1.0.0-0", `.*-debug$` }, "1.2.3-debug"},
	} {
		t.Run(sentence, func(t *testing.T) {
			artifact := look(t, New(), wanted(registry, c.change), false)
			if want := c.tag + "@" + digests[c.tag]; artifact.Revision != want {
				t.Errorf("revision %s, want %s", artifact.Revision, want)
			}
			if diff := cmp.Diff(map[string]string{"main.tf": c.tag}, files(t, artifact)); diff != "" {
				t.Error(diff)
			}
		})
	}
	artifact := look(t, New(), wanted(registry, func(r *Repository) {
		r.Digest, r.SemVer = digests["1.0.0"], "2.x"
	}), false)
	if artifact.Revision != digests["1.0.0"] {
		t.Errorf("a digest does not override a range: %s", artifact.Revision)
	}
	want := map[string]string{
		"org.opencontainers.image.created": "1970-01-01T00:00:00Z", "org.opencontainers.image.source": "https://example.com/" + app,
		"org.opencontainers.image.revision": "1.0.0@sha1:0000000000000000000000000000000000000000",
	}
	if diff := cmp.Diff(want, artifact.Metadata); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidReferences(t *testing.T) {
	registry := ocitest.New(t)
	registry.Push(t, app, "1.0.0", ocitest.Files{"a": "a"})
	for sentence, c := range map[string]struct {
		change  func(*Repository)
		reason  string
		stalled bool
		message string
	}{
		"a URL of something else":        {func(r *Repository) { r.URL = "https://example.com/x" }, reasonURLInvalid, true, "oci://"},
		"a URL with a tag":               {func(r *Repository) { r.URL += ":1.0.0" }, reasonURLInvalid, true, "spec.ref.tag"},
		"a URL with a password":          {func(r *Repository) { r.URL = "oci://user:hunter2@example.com/x" }, reasonURLInvalid, true, "without credentials"},
		"a URL of no repository":         {func(r *Repository) { r.URL = "oci://example.com/UPPER" }, reasonURLInvalid, true, "lower-case"},
		"no digest":                      {func(r *Repository) { r.Digest = "sha256:abc" }, reasonPull, true, "not a valid digest"},
		"no tag":                         {func(r *Repository) { r.Tag = "../../x" }, reasonURLInvalid, true, "not a valid tag"},
		"no range":                       {func(r *Repository) { r.SemVer = "one" }, reasonRead, true, "not a version range"},
		"not a valid regular expression": {func(r *Repository) { r.SemVer, r.SemverFilter = "1.x", "(" }, reasonRead, true, "not a valid regular expression"},
		"a tag that is not there":        {func(r *Repository) { r.Tag = "missing" }, reasonPull, false, ":missing: the registry answers 404"},
		"a digest that is not there":     {func(r *Repository) { r.Digest = "sha256:" + strings.Repeat("0", 64) }, reasonPull, false, "404"},
		"a repository that is not":       {func(r *Repository) { r.URL += "/other"; r.SemVer = "1.x" }, reasonRead, false, "404"},
		"a range that nothing meets":     {func(r *Repository) { r.SemVer = "2.x" }, reasonRead, false, "none of the 1 tags of " + registry.URL(app) + " is a version within spec.ref.semver '2.x'"},
		"a filter that nothing meets":    {func(r *Repository) { r.SemVer, r.SemverFilter = "1.x", "rc" }, reasonRead, false, "that matches spec.ref.semverFilter"},
		"nobody who listens":             {func(r *Repository) { r.URL = "oci://127.0.0.1:1/x" }, reasonPull, false, "connection was refused"},
		"the metadata service":           {func(r *Repository) { r.URL, r.Insecure = "oci://169.254.169.254/x", true }, reasonPull, false, "metadata service"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := New().Look(t.Context(), wanted(registry, c.change), false)
			wantFailure(t, err, c.reason, c.stalled, c.message)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Error("the error contains the password")
			}
		})
	}
}

func TestLooksAreCheap(t *testing.T) {
	registry := ocitest.New(t)
	registry.Push(t, app, "1.0.0", ocitest.Files{"a": "a"})
	client := New()
	r := wanted(registry, func(r *Repository) { r.Tag = "1.0.0" })
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := client.Look(context.Background(), r, false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := registry.Counts(app); got.Manifests != 2 || got.Blobs != 0 {
		t.Errorf("a hundred first looks caused %+v, want one request for the digest and one for the manifest", got)
	}
	registry.Reset()
	look(t, client, r, true)
	if got := registry.Counts(app); got.Manifests != 1 {
		t.Errorf("a look without news caused %+v", got)
	}
	registry.Reset()
	look(t, client, wanted(registry, func(r *Repository) { r.SemVer = "1.x" }), true)
	if got := registry.Counts(app); got.Lists != 1 {
		t.Errorf("a range caused %+v", got)
	}
	digest := registry.Push(t, app, "pinned", ocitest.Files{"a": "pinned"})
	pinned := wanted(registry, func(r *Repository) { r.Digest = digest; r.MaxAge = 0 })
	look(t, client, pinned, false)
	registry.SetFault(faulttest.Unreachable)
	look(t, client, pinned, true) // what a digest names never changes
}

func TestOtherCredentialsDoNotShareLooks(t *testing.T) {
	registry := ocitest.New(t, ocitest.BasicAuth("reader", "secret"))
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	client := New()
	first := look(t, client, wanted(registry, func(r *Repository) { r.Credentials = credentials(t, registry.Host(), "reader", "secret") }), false)
	_, err := client.Look(t.Context(), wanted(registry, nil), false)
	wantFailure(t, err, reasonPull, false, "401")
	second := look(t, client, wanted(registry, func(r *Repository) {
		r.Credentials = credentials(t, registry.Host(), "reader", "secret")
		r.Credentials.entries = append(r.Credentials.entries, r.Credentials.entries...)
	}), false)
	if first.ContentKey == second.ContentKey {
		t.Error("trees of different credentials have equal keys")
	}
}

func TestAMovedTagIsFollowed(t *testing.T) {
	registry := ocitest.New(t)
	client, r := New(), wanted(registry, func(r *Repository) { r.Tag = "stable" })
	one := registry.Push(t, app, "stable", ocitest.Files{"a": "1"})
	before := look(t, client, r, false)
	two := registry.Push(t, app, "stable", ocitest.Files{"a": "2"})
	if remembered := look(t, client, r, false); remembered.Revision != "stable@"+one {
		t.Errorf("a young answer was not reused: %s", remembered.Revision)
	}
	after := look(t, client, r, true)
	if after.Revision != "stable@"+two || after.ContentKey == before.ContentKey {
		t.Errorf("revision %s, want stable@%s", after.Revision, two)
	}
	if diff := cmp.Diff(map[string]string{"a": "1"}, files(t, before)); diff != "" {
		t.Errorf("an earlier artifact cannot be fetched any more: %s", diff)
	}
	registry.Tag(t, app, "stable", "other")
	if other := look(t, client, wanted(registry, func(r *Repository) { r.Tag = "other" }), false); other.ContentKey != after.ContentKey {
		t.Error("two tags of one artifact have different keys")
	}
}

func TestAFetchThatFailsIsFollowedByALook(t *testing.T) {
	registry := ocitest.New(t)
	client, r := New(), wanted(registry, nil)
	registry.Push(t, app, "latest", ocitest.Files{"a": "1"})
	before := look(t, client, r, false)
	moved := registry.Push(t, app, "latest", ocitest.Files{"a": "2"})
	registry.SetFault(faulttest.Answer(http.StatusNotFound)) // as when the registry has collected what no tag names
	wantFailure(t, before.Fetch(t.Context(), t.TempDir()), reasonPull, false, "404")
	registry.SetFault(nil)
	if after := look(t, client, r, false); after.Revision != "latest@"+moved {
		t.Errorf("a deleted artifact was remembered: %s", after.Revision)
	}
}

func TestARegistryThatHangs(t *testing.T) {
	registry := ocitest.New(t)
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	client, quick := New(), wanted(registry, func(r *Repository) { r.Timeout = 200 * time.Millisecond })
	patient := look(t, client, wanted(registry, nil), false)
	hang := func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	registry.SetFault(hang)
	_, err := client.Look(t.Context(), quick, false)
	wantFailure(t, err, reasonPull, false, "it took longer than spec.timeout allows")
	patient.wanted.Timeout = 200 * time.Millisecond
	err = patient.Fetch(t.Context(), t.TempDir())
	wantFailure(t, err, reasonPull, false, "it took longer than spec.timeout allows")
}

func TestARegistryThatIsBrokenForAWhile(t *testing.T) {
	registry := ocitest.New(t)
	registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	var mu sync.Mutex
	failures := 1
	registry.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if failures--; failures >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return failures >= 0
	})
	look(t, New(), wanted(registry, nil), false)
	registry.SetFault(faulttest.Answer(http.StatusInternalServerError))
	_, err := New().Look(t.Context(), wanted(registry, nil), false)
	wantFailure(t, err, reasonPull, false, "the registry answers 500")
	registry.SetFault(faulttest.Answer(http.StatusTooManyRequests))
	_, err = New().Look(t.Context(), wanted(registry, nil), false)
	wantFailure(t, err, reasonPull, false, "too many requests")
}

func TestARegistryThatDoesNotAnswerHEAD(t *testing.T) {
	registry := ocitest.New(t)
	digest := registry.Push(t, app, "latest", ocitest.Files{"a": "a"})
	registry.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return true
		}
		return false
	})
	if found := look(t, New(), wanted(registry, nil), false); found.Revision != "latest@"+digest {
		t.Error(found.Revision)
	}
}
