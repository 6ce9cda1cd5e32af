// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/environments/targets"
)

func TestEveryKindHasATemplate(t *testing.T) {
	for _, kind := range Kinds {
		for _, target := range targets.All() {
			files, err := Render(Own(), kind, Values("my-shop", target))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if !strings.Contains(f.Path, "my-shop") || strings.Contains(string(f.Content), "@NAME@") {
					t.Errorf("%s: %s\n%s", kind, f.Path, f.Content)
				}
			}
		}
	}
}

// The manifests are of the kinds as they are.
func TestManifestsHaveTheFieldsOfTheirKinds(t *testing.T) {
	for kind, into := range map[string]any{"stack": &infrav1.Terraform{}, "contract": &yubav1.Contract{}} {
		files, err := Render(Own(), kind, Values("shop", targets.All()[0]))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			if strings.HasSuffix(f.Path, ".yaml") {
				found = true
				if err := yaml.UnmarshalStrict(f.Content, into); err != nil {
					t.Errorf("%s: %v", f.Path, err)
				}
			}
		}
		if !found {
			t.Errorf("%s has no manifest", kind)
		}
	}
}

func TestHostileTemplates(t *testing.T) {
	for sentence, test := range map[string]struct {
		fsys fstest.MapFS
		says string
	}{
		"a path that leaves the library": {fstest.MapFS{"module/@WAY@/x.tf": {}}, "outside of the library"},
		"a file of git":                  {fstest.MapFS{"module/.git/hooks/pre-commit": {}}, "outside of the library"},
		"a link":                         {fstest.MapFS{"module/x": {Mode: os.ModeSymlink}}, "not a regular file"},
		"a placeholder of nothing":       {fstest.MapFS{"module/x": {Data: []byte("@SECRET@")}}, "@SECRET@ is not known"},
		"no files":                       {fstest.MapFS{"other/x": {}}, "no template module/"},
		"a large file":                   {fstest.MapFS{"module/x": {Data: make([]byte, maxFile+1)}}, "more than"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if _, err := Render(test.fsys, "module", map[string]string{"WAY": "../.."}); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Error(err)
			}
		})
	}
}

func TestNoFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = Write(root, []File{{Path: "a/a", Content: []byte("x")}, {Path: "b", Content: []byte("x")}})
	if err == nil || !strings.Contains(err.Error(), "b is there already") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a/a")); err == nil {
		t.Error("it wrote a part")
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{"shop": true, "my-shop2": true, "": false, "Shop": false, "../x": false, "2x": false, "-x": false} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
