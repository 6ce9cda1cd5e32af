// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packUpstream packs a tree and returns what is in the archive.
func packUpstream(t *testing.T, files map[string]string, rules UpstreamRules) (map[string]string, Stats) {
	t.Helper()
	var out bytes.Buffer
	digest, stats, err := Pack(t.Context(), makeTree(t, files), &out, PackOptions{Upstream: &rules})
	if err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(t.TempDir(), "tree")
	if _, err := Extract(t.Context(), bytes.NewReader(out.Bytes()), dest, Limits{}, digest); err != nil {
		t.Fatal(err)
	}
	return contents(t, dest), stats
}

func TestTreesOfUpstreams(t *testing.T) {
	for sentence, test := range map[string]struct {
		rules UpstreamRules
		files map[string]string
		want  map[string]string
	}{
		"what git ignores was committed, so it counts": {
			files: map[string]string{".gitignore": "*.yaml\n", ".terraformignore": "a.yaml\n", "a.yaml": "a"},
			want:  map[string]string{".gitignore": "*.yaml\n", ".terraformignore": "a.yaml\n", "a.yaml": "a"},
		},
		"Flux's default excludes stay away": {
			rules: UpstreamRules{SourceIgnore: true},
			files: map[string]string{".gitignore": "", "main.tf": "m", "pic.png": "p", "sub/lambda.zip": "z", ".github/ci.yaml": "c", "sub/.sops.yaml": "s"},
			want:  map[string]string{"main.tf": "m"},
		},
		"an Ignore wins over the default excludes": {
			rules: UpstreamRules{SourceIgnore: true, Ignore: "!*.zip\n/docs/\n"},
			files: map[string]string{"sub/lambda.zip": "z", "docs/x": "x", "sub/docs/y": "y"},
			want:  map[string]string{"sub/lambda.zip": "z", "sub/docs/y": "y"},
		},
		"everything but one directory": {
			rules: UpstreamRules{SourceIgnore: true, Ignore: "/*\n!/deploy\n"},
			files: map[string]string{"a": "a", "src/b": "b", "deploy/c": "c", "deploy/d/e": "e"},
			want:  map[string]string{"deploy/c": "c", "deploy/d/e": "e"},
		},
		".sourceignore counts from its directory on": {
			rules: UpstreamRules{SourceIgnore: true},
			files: map[string]string{".sourceignore": "*.md\n", "a.md": "a", "sub/.sourceignore": "/b\n!c.md\n", "sub/b": "b", "sub/c.md": "c", "b": "b"},
			want:  map[string]string{".sourceignore": "*.md\n", "sub/.sourceignore": "/b\n!c.md\n", "sub/c.md": "c", "b": "b"},
		},
		"what belongs to git and tofu stays away whatever the rules say": {
			rules: UpstreamRules{SourceIgnore: true, Ignore: "!.terraform\n!*.tfstate\n!.git\n"},
			files: map[string]string{".git/config": "c", ".terraform/x": "x", "terraform.tfstate": "secret", "main.tf": "m"},
			want:  map[string]string{"main.tf": "m"},
		},
		"a link that stays is kept": {
			files: map[string]string{"a/b": "b", "a/l": "-> b", "c/l": "-> ../a/b"},
			want:  map[string]string{"a/b": "b", "a/l": "-> b", "c/l": "-> ../a/b"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, _ := packUpstream(t, test.files, test.rules)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinksThatLeaveTheTreeAreLeftOutAndTold(t *testing.T) {
	got, stats := packUpstream(t, map[string]string{"a": "a", "b/abs": "-> /etc/passwd", "b/up": "-> ../../x", ".sourceignore": "-> /etc/passwd"},
		UpstreamRules{SourceIgnore: true})
	if diff := cmp.Diff(map[string]string{"a": "a"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{".sourceignore", "b/abs", "b/up"}, stats.LeftOut); diff != "" {
		t.Error(diff)
	}
}

func TestTreesThatAreTooLargeAreRefusedWhilePacking(t *testing.T) {
	dir := makeTree(t, map[string]string{"a": "12345", "b": "12345", "c": "12345"})
	for sentence, opts := range map[string]PackOptions{
		"entries":  {MaxEntries: 2, Upstream: &UpstreamRules{}},
		"unpacked": {MaxUnpacked: 14, Upstream: &UpstreamRules{}},
		"packed":   {MaxPacked: 20, Upstream: &UpstreamRules{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, _, err := Pack(t.Context(), dir, &bytes.Buffer{}, opts)
			var limit *LimitError
			if !errors.As(err, &limit) {
				t.Errorf("%v", err)
			}
		})
	}
}
