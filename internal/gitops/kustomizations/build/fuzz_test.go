// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
)

// FuzzBuild builds any file of objects: the build ends, and does not reveal its directory.
func FuzzBuild(f *testing.F) {
	f.Add([]byte(configMap+"---\n"+secret), []byte("resources: [a.yaml]\nnamePrefix: a-\n"))
	f.Add([]byte("a: &a [*a]\n"), []byte("resources: [a.yaml, .., ./, a.yaml]\ntransformers:\n- |\n  x\n"))
	f.Add([]byte(web+"---\n"+roles), []byte("resources: [a.yaml]\npatches: [{path: a.yaml}]\nvars: []\n"))
	f.Add([]byte("x: ${a}${b:=c} $$ ${a//b/c}"), []byte(""))
	f.Fuzz(func(t *testing.T, objects, kustomization []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), objects, 0o600); err != nil {
			t.Fatal(err)
		}
		if len(kustomization) > 0 {
			if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), kustomization, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Build(t.Context(), Input{Object: spec(func(s *kustomizev1.KustomizationSpec) {
			s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"a": "b"}}
		}), Dir: dir})
		if err != nil && strings.Contains(err.Error(), dir) {
			t.Errorf("error shows where it was built: %v", err)
		}
	})
}
