// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// packedFiles are archives by their digests.
type packedFiles map[string][]byte

// add packs the files of a revision.
func (r packedFiles) add(t *testing.T, files map[string]string) (digest string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	digest, _, err := archive.Pack(t.Context(), dir, &packed, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r[digest] = packed.Bytes()
	return digest
}

func (r packedFiles) open(_ context.Context, digest string) (io.ReadCloser, error) {
	if packed, there := r[digest]; there {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}
	return nil, fmt.Errorf("archive %.19s is gone", digest)
}

const callsZone = `{"configuration":{"root_module":{"module_calls":{"zone":{"source":"../../modules/zone","module":{"module_calls":{"record":{"source":"./record","module":{}},
"far":{"source":"hashicorp/consul/aws","module":{"module_calls":{"x":{"source":"./x"}}}}}}}}}}}`

func TestTheOwnersOfAStack(t *testing.T) {
	files := map[string]string{"CODEOWNERS": "* @all\n/stacks/net/ @net\n/modules/zone/record/ @dns\n/stacks/other/ @other\n", "stacks/net/main.tf": "", "stacks/other/main.tf": "", "stacks/net/sub/x.txt": "",
		"modules/zone/main.tf": "", "modules/zone/record/main.tf": "", "modules/unused/main.tf": "", "README.md": ""}
	without := func(change map[string]string) map[string]string {
		changed := map[string]string{}
		for name, text := range files {
			changed[name] = text
		}
		for name, text := range change {
			if changed[name] = text; text == "-" {
				delete(changed, name)
			}
		}
		return changed
	}
	grab := map[string]string{"CODEOWNERS": "* @mallory\n"}
	gone := map[string]string{"CODEOWNERS": "-"}
	for sentence, test := range map[string]struct {
		now, applied map[string]string
		path, was    string
		part         []string
		want         string
	}{
		"a stack that was never applied":                         {now: files, path: "stacks/net", want: "@all modules/zone/main.tf; @dns modules/zone/record/main.tf; @net stacks/net/main.tf"},
		"the last applied file counts":                           {now: without(grab), applied: files, path: "stacks/net", was: "stacks/net", want: "@all modules/zone/main.tf; @dns modules/zone/record/main.tf; @net stacks/net/main.tf"},
		"so it does if the file is removed":                      {now: without(gone), applied: files, path: "stacks/net", was: "stacks/net", want: "@all modules/zone/main.tf; @dns modules/zone/record/main.tf; @net stacks/net/main.tf"},
		"a first file counts":                                    {now: files, applied: without(gone), path: "./stacks/net", was: "stacks/net", want: "@all modules/zone/main.tf; @dns modules/zone/record/main.tf; @net stacks/net/main.tf"},
		"the owners of the path that was applied are asked, too": {now: files, applied: files, path: "stacks/other", was: "stacks/net", want: "@all modules/zone/main.tf; @dns modules/zone/record/main.tf; @net stacks/net/main.tf; @other stacks/other/main.tf"},
		"removed files have owners":                              {now: without(map[string]string{"modules/zone/record/main.tf": "-"}), applied: files, path: "stacks/net", was: "stacks/net", want: "@all modules/zone/main.tf; @dns modules/zone/record/main.tf; @net stacks/net/main.tf"},
		"what the run reads besides":                             {now: files, path: "stacks/net", part: []string{"stacks/net", "README.md"}, want: "@all README.md; @dns modules/zone/record/main.tf; @net stacks/net/main.tf"},
		"the root of the source":                                 {now: files, path: "", want: "@all CODEOWNERS; @dns modules/zone/record/main.tf; @net stacks/net/main.tf; @other stacks/other/main.tf"},
		"no file":                                                {now: without(gone), path: "stacks/net", want: "the source has no file .github/CODEOWNERS, CODEOWNERS, docs/CODEOWNERS, .gitlab/CODEOWNERS"},
		"the first place counts":                                 {now: without(map[string]string{".github/CODEOWNERS": "* @first\n"}), path: "stacks/net", want: "@first modules/zone/main.tf"},
		"a file that is too large":                               {now: without(map[string]string{"CODEOWNERS": strings.Repeat("# much\n", 200_000)}), path: "stacks/net", want: "at main@2: CODEOWNERS has more than 1048576 bytes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := packedFiles{}
			obj := &infrav1.Terraform{}
			obj.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "program"}
			rec := run.Record{Spec: run.Spec{Path: test.path, Artifact: run.Artifact{Digest: r.add(t, test.now), Revision: "main@2"}}}
			if test.part != nil {
				rec.Spec.Part = &run.Part{Paths: test.part}
			}
			if test.applied != nil {
				obj.Status.LastAppliedArtifact = &infrav1.ArtifactReference{Digest: r.add(t, test.applied), Revision: "main@1", Path: test.was}
			}
			p := programs{open: r.open, limits: archive.Limits{}.WithDefaults()}
			groups, _, err := p.owners(t.Context(), obj, rec, []byte(callsZone))
			var all []string
			for _, g := range groups {
				all = append(all, strings.Join(g.Owners, " ")+" "+g.Path)
			}
			got := strings.Join(all, "; ")
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOwnersOfAStackWhoseLastSourceIsGone(t *testing.T) {
	r := packedFiles{}
	obj := &infrav1.Terraform{}
	rec := run.Record{Spec: run.Spec{Artifact: run.Artifact{Digest: r.add(t, map[string]string{"CODEOWNERS": "* @mallory"}), Revision: "main@2"}}}
	p := programs{open: r.open, limits: archive.Limits{}.WithDefaults()}
	if _, _, err := p.owners(t.Context(), obj, rec, nil); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("an inline program: %v", err)
	}
	obj.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "program"}
	obj.Status.LastAppliedArtifact = &infrav1.ArtifactReference{Digest: "sha256:0123456789abcdef", Revision: "main@1"}
	if _, _, err := p.owners(t.Context(), obj, rec, nil); err == nil || !strings.Contains(err.Error(), "read the last applied source, at main@1: archive sha256:0123456789ab is gone") {
		t.Errorf("the last one is gone: %v", err)
	}
}
