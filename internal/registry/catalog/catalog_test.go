// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// shelf is a bucket in a directory with a catalog.
type shelf struct {
	t      testing.TB
	dir    string
	bucket *blob.Plain
	*catalog.Catalog
	now atomic.Int64 // in seconds
}

func newShelf(t testing.TB) *shelf {
	s := &shelf{t: t, dir: t.TempDir()}
	s.now.Store(1_800_000_000)
	s.bucket = openBucket(t, s.dir)
	s.Catalog = s.another()
	return s
}

func openBucket(t testing.TB, dir string) *blob.Plain {
	t.Helper()
	bucket, err := blob.OpenPlain(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Close() })
	return bucket
}

// another opens the bucket again, as another server or after a restart.
func (s *shelf) another() *catalog.Catalog {
	s.t.Helper()
	c, err := catalog.Open(s.t.Context(), s.bucket, catalog.Options{Spool: s.t.TempDir(), Now: func() time.Time { return time.Unix(s.now.Load(), 0) }})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func version(t testing.TB, text string) layout.ModuleVersion {
	t.Helper()
	v, err := layout.ParseModuleVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// packed is an archive with one file, main.tf.
func packed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := archive.PackInline(map[string]string{"main.tf": text}, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (s *shelf) publish(name, text string) (catalog.Release, catalog.Changes, error) {
	s.t.Helper()
	return s.Publish(s.t.Context(), version(s.t, name), bytes.NewReader(packed(s.t, text)), catalog.PublishOptions{By: "eva"})
}

func (s *shelf) mustPublish(name, text string) catalog.Release {
	s.t.Helper()
	r, _, err := s.publish(name, text)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// write puts an archive into the bucket as boring-registry does.
func (s *shelf) write(name, text string) {
	s.t.Helper()
	if err := s.bucket.Put(s.t.Context(), version(s.t, name).Key(), bytes.NewReader(packed(s.t, text))); err != nil {
		s.t.Fatal(err)
	}
}

func versions(t testing.TB, c *catalog.Catalog, module string) string {
	t.Helper()
	m, err := layout.ParseModule(module)
	if err != nil {
		t.Fatal(err)
	}
	releases, err := c.Versions(t.Context(), m)
	if err != nil {
		if !errors.Is(err, catalog.ErrNone) {
			t.Fatal(err)
		}
		return "none"
	}
	var out []string
	for _, r := range releases {
		out = append(out, r.Version)
	}
	return strings.Join(out, " ")
}

func TestPublishAndRead(t *testing.T) {
	s := newShelf(t)
	text := `variable "cidr" { type = string }`
	want := s.mustPublish("acme/vpc/aws@1.2.0", text)
	s.mustPublish("acme/vpc/aws@1.10.0", text)
	s.mustPublish("acme/vpc/aws@1.2.0-rc1", text)
	s.mustPublish("acme/vpc/awscc@9.0.0", text)
	if want.By != "eva" || want.Interface == nil || want.Interface.Inputs[0].Name != "cidr" || want.Published.Unix() != s.now.Load() {
		t.Errorf("%+v", want)
	}
	for name, c := range map[string]*catalog.Catalog{"the publisher": s.Catalog, "another server": s.another()} {
		if got := versions(t, c, "acme/vpc/aws"); got != "1.10.0 1.2.0 1.2.0-rc1" {
			t.Errorf("%s: %s", name, got)
		}
		v := version(t, "acme/vpc/aws@1.2.0")
		r, err := c.Release(t.Context(), v)
		if err != nil || r.Digest != want.Digest || r.By != "eva" || r.Size != want.Size || !r.Published.Equal(want.Published) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if r, err := c.Describe(t.Context(), v); err != nil || len(r.Interface.Inputs) != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		content, _, err := c.Archive(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err = errors.Join(err, content.Close()); err != nil || !bytes.Equal(data, packed(t, text)) {
			t.Errorf("%s: other bytes, %v", name, err)
		}
		if got := fmt.Sprint(c.Modules(t.Context())); got != "[acme/vpc/aws acme/vpc/awscc]" {
			t.Errorf("%s: %s", name, got)
		}
	}
	_, err := s.Release(t.Context(), version(t, "acme/vpc/aws@2.0.0"))
	if !errors.Is(err, catalog.ErrNone) || !strings.Contains(err.Error(), "its newest is 1.10.0") {
		t.Error(err)
	}
}

func TestPublishedVersionsNeverChange(t *testing.T) {
	s := newShelf(t)
	first := s.mustPublish("acme/vpc/aws@1.0.0", `variable "a" {}`)
	again, changes, err := s.publish("acme/vpc/aws@1.0.0", `variable "a" {}`)
	if err != nil || !changes.Existed || again.Digest != first.Digest {
		t.Errorf("%+v, %+v, %v", again, changes, err)
	}
	for _, c := range []*catalog.Catalog{s.Catalog, s.another()} {
		_, _, err = c.Publish(t.Context(), version(t, "acme/vpc/aws@1.0.0"), bytes.NewReader(packed(t, `variable "b" {}`)), catalog.PublishOptions{Force: true})
		var conflict *catalog.ConflictError
		if !errors.As(err, &conflict) || conflict.Have != first.Digest || !strings.Contains(err.Error(), conflict.Got) {
			t.Error(err)
		}
	}
}

func TestConcurrentPublishersOfOneVersion(t *testing.T) {
	s := newShelf(t)
	servers := []*catalog.Catalog{s.Catalog, s.another(), s.another()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	digests := map[string]int{}
	const publishers = 24
	conflicts := 0
	for i := range publishers {
		data := packed(t, fmt.Sprintf("# %d\n", i%4)) // six publishers have the same bytes
		wg.Go(func() {
			r, _, err := servers[i%3].Publish(t.Context(), version(t, "acme/vpc/aws@1.0.0"), bytes.NewReader(data), catalog.PublishOptions{By: fmt.Sprint(i)})
			var conflict *catalog.ConflictError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				digests[r.Digest]++
			case errors.As(err, &conflict):
				conflicts++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(digests) != 1 || conflicts != publishers*3/4 {
		t.Errorf("%v, %d conflicts", digests, conflicts)
	}
	r, err := s.another().Release(t.Context(), version(t, "acme/vpc/aws@1.0.0"))
	if err != nil || digests[r.Digest] == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReleasesThatBreakCallers(t *testing.T) {
	s := newShelf(t)
	s.mustPublish("acme/vpc/aws@1.2.0", `variable "a" { default = 1 }`)
	s.mustPublish("acme/vpc/aws@1.3.0", `variable "a" { default = 1 }`)
	for _, c := range []struct {
		name, version, base, step string
		refused                   bool
	}{
		{"a patch", "1.3.1", "1.3.0", "patch", true},
		{"a patch of an older release", "1.2.1", "1.2.0", "patch", true},
		{"a pre-release of a patch", "1.3.1-rc1", "1.3.0", "patch", true},
		{"a minor release", "1.4.0", "1.3.0", "minor", false},
		{"a major release", "2.0.0", "1.4.0", "major", false},
		{"one before all others", "0.1.0", "", "", false},
		{"a patch that breaks nobody", "0.1.1", "0.1.0", "patch", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, changes, err := s.publish("acme/vpc/aws@"+c.version, ``)
			var incompatible *catalog.IncompatibleError
			if errors.As(err, &incompatible) != c.refused || !c.refused && err != nil {
				t.Fatal(err)
			}
			if changes.Base != c.base || changes.Step != c.step {
				t.Errorf("%+v", changes)
			}
			if c.refused && !strings.Contains(err.Error(), `the input "a" was removed`) {
				t.Error(err)
			}
		})
	}
	_, changes, err := s.Publish(t.Context(), version(t, "acme/vpc/aws@1.3.2"), bytes.NewReader(packed(t, ``)), catalog.PublishOptions{Force: true})
	if err != nil || len(inspect.Breaking(changes.List)) != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestRevokedReleasesAreNoBase(t *testing.T) {
	s := newShelf(t)
	s.mustPublish("acme/vpc/aws@1.0.0", ``)
	s.mustPublish("acme/vpc/aws@1.0.1", `variable "a" { default = 1 }`)
	if _, err := s.Mark(t.Context(), version(t, "acme/vpc/aws@1.0.1"), &catalog.Notice{Kind: catalog.Revoked, Reason: "leaks"}); err != nil {
		t.Fatal(err)
	}
	_, changes, err := s.publish("acme/vpc/aws@1.0.2", ``)
	if err != nil || changes.Base != "1.0.0" {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestNotices(t *testing.T) {
	s := newShelf(t)
	s.mustPublish("acme/vpc/aws@1.0.0", ``)
	v := version(t, "acme/vpc/aws@1.0.0")
	r, err := s.Mark(t.Context(), v, &catalog.Notice{Kind: catalog.Deprecated, Reason: "use 2.0.0", By: "eva"})
	if err != nil || r.Notice == nil || r.Notice.Reason != "use 2.0.0" || r.Notice.At.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := s.another().Release(t.Context(), v); err != nil || r.Notice == nil || *r.Notice != *must(s.Release(t.Context(), v)).Notice {
		t.Errorf("%+v, %v", r, err)
	}
	if _, _, err := s.Archive(t.Context(), v); err != nil {
		t.Error(err) // a notice never takes the archive away
	}
	for range 2 {
		if r, err := s.Mark(t.Context(), v, nil); err != nil || r.Notice != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if r, err := s.another().Release(t.Context(), v); err != nil || r.Notice != nil {
		t.Errorf("%+v, %v", r, err)
	}
	for want, n := range map[string]catalog.Notice{
		`its kind is "bad"`: {Kind: "bad", Reason: "x"}, "it has no reason": {Kind: catalog.Revoked, Reason: " "},
		"control characters": {Kind: catalog.Revoked, Reason: "a\x1b[2J"}, "more than 1000 bytes": {Kind: catalog.Revoked, Reason: strings.Repeat("a", 2000)},
	} {
		_, err := s.Mark(t.Context(), v, &n)
		var invalid *inspect.Error
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := s.Mark(t.Context(), version(t, "acme/vpc/aws@3.0.0"), nil); !errors.Is(err, catalog.ErrNone) {
		t.Error(err)
	}
}

func must(r catalog.Release, err error) catalog.Release {
	if err != nil {
		panic(err)
	}
	return r
}

func TestLatest(t *testing.T) {
	for want, list := range map[string][]catalog.Release{
		"a stable one": {release("2.0.0-rc1", ""), release("1.0.0", ""), release("0.9.0", "")}, "a pre-release": {release("2.0.0-rc1", "")},
		"one without a notice": {release("2.0.0", catalog.Deprecated), release("1.0.0", "")}, "a deprecated one": {release("2.0.0", catalog.Revoked), release("1.0.0", catalog.Deprecated)},
	} {
		expected := map[string]string{"a pre-release": "2.0.0-rc1"}[want]
		if expected == "" {
			expected = "1.0.0"
		}
		if got := catalog.Latest(list); got.Version != expected {
			t.Errorf("%s: %s", want, got.Version)
		}
	}
}

func release(v string, notice catalog.NoticeKind) catalog.Release {
	r := catalog.Release{ModuleVersion: layout.ModuleVersion{Version: v}}
	if notice != "" {
		r.Notice = &catalog.Notice{Kind: notice}
	}
	return r
}

func TestPublishStripsADirectoryAroundTheModule(t *testing.T) {
	s := newShelf(t)
	var wrapped bytes.Buffer
	if _, err := archive.PackInline(map[string]string{"vpc-1.0.0/main.tf": `variable "a" {}`, "vpc-1.0.0/README.md": "x"}, &wrapped); err != nil {
		t.Fatal(err)
	}
	v := version(t, "acme/vpc/aws@1.0.0")
	for _, existed := range []bool{false, true} {
		_, changes, err := s.Publish(t.Context(), v, bytes.NewReader(wrapped.Bytes()), catalog.PublishOptions{})
		if err != nil || changes.Existed != existed {
			t.Errorf("%+v, %v", changes, err)
		}
	}
	content, release, err := s.Archive(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	files, err := archive.Files(t.Context(), content, archive.Limits{}, release.Digest, 1000, func(string) bool { return true })
	if err != nil || string(files["main.tf"]) != `variable "a" {}` || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestPublishRefuses(t *testing.T) {
	s := newShelf(t)
	v := version(t, "acme/vpc/aws@1.0.0")
	var invalid *inspect.Error
	if _, _, err := s.publish(v.String(), "variable \"a\" {\n  type = x\n}\n"); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "main.tf:2:10: Invalid type specification") {
		t.Error(err)
	}
	gone := errors.New("the client is gone")
	_, _, err := s.Publish(t.Context(), v, io.MultiReader(bytes.NewReader(packed(t, "")[:20]), errReader{gone}), catalog.PublishOptions{})
	if !errors.Is(err, gone) || errors.As(err, &invalid) {
		t.Error(err)
	}
	small, err := catalog.Open(t.Context(), s.bucket, catalog.Options{MaxArchive: 10, Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := small.Publish(t.Context(), v, bytes.NewReader(packed(t, "")), catalog.PublishOptions{}); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "exceeds the limit of 10") {
		t.Error(err)
	}
	if _, _, err := s.Publish(t.Context(), layout.ModuleVersion{Module: v.Module, Version: "v1"}, nil, catalog.PublishOptions{}); !errors.As(err, &invalid) {
		t.Error(err)
	}
	for _, c := range []*catalog.Catalog{s.Catalog, s.another()} {
		if got := versions(t, c, "acme/vpc/aws"); got != "none" {
			t.Error(got)
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestUploadsLeaveNothingInTheSpool(t *testing.T) {
	s := newShelf(t)
	spool := t.TempDir()
	c, err := catalog.Open(t.Context(), s.bucket, catalog.Options{Spool: spool})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "", "{{{"} {
		c.Publish(t.Context(), version(t, "acme/vpc/aws@1.0.0"), bytes.NewReader(packed(t, text)), catalog.PublishOptions{}) //nolint:errcheck // any result
	}
	if entries, err := os.ReadDir(spool); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAFailingStoreInTheMiddle(t *testing.T) {
	s := newShelf(t)
	v := version(t, "acme/vpc/aws@1.0.0")
	// The archive cannot be written.
	if err := os.WriteFile(filepath.Join(s.dir, "modules"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.publish(v.String(), ""); err == nil {
		t.Fatal("published")
	}
	if got := versions(t, s.Catalog, "acme/vpc/aws"); got != "none" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(s.dir, "modules")); err != nil {
		t.Fatal(err)
	}
	// The archive can be written, and the sidecar cannot.
	if err := os.WriteFile(filepath.Join(s.dir, "yuba"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.publish(v.String(), ""); err == nil || !strings.Contains(err.Error(), "the archive is published") {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.dir, "yuba")); err != nil {
		t.Fatal(err)
	}
	// After a crash here, the archive is described from its bytes, and publishing again completes it.
	crashed := s.another()
	if r, err := crashed.Describe(t.Context(), v); err != nil || r.By != "" || r.Interface == nil || r.Digest == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.bucket.Delete(t.Context(), v.OwnKey()); err != nil {
		t.Fatal(err)
	}
	if _, changes, err := s.publish(v.String(), ""); err != nil || !changes.Existed {
		t.Errorf("%+v, %v", changes, err)
	}
	if r, err := s.another().Release(t.Context(), v); err != nil || r.By != "eva" {
		t.Errorf("%+v, %v", r, err)
	}
}
