// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/yuba-dev/yuba/internal/archive"
)

func includeOf(name string) sourcev1.GitRepositoryInclude {
	return sourcev1.GitRepositoryInclude{GitRepositoryRef: meta.LocalObjectReference{Name: name}}
}

// Thirty repositories that include the next one twice have a thousand million ways to the last.
func TestManyWaysToAnIncludeAreOneLook(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := sourcev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	made := fake.NewClientBuilder().WithScheme(scheme)
	for i := range 30 {
		o := &sourcev1.GitRepository{}
		o.Namespace, o.Name = "team", fmt.Sprint("r", i)
		o.Spec.Include = []sourcev1.GitRepositoryInclude{includeOf(fmt.Sprint("r", i+1)), includeOf(fmt.Sprint("r", i+1))}
		made = made.WithObjects(o)
	}
	reader := made.Build()
	for self, circle := range map[string]bool{"other": false, "r30": true} {
		first := &sourcev1.GitRepository{}
		if err := reader.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "r0"}, first); err != nil {
			t.Fatal(err)
		}
		last := &sourcev1.GitRepository{}
		last.Namespace, last.Name = "team", "r30"
		if circle {
			if err := reader.Create(t.Context(), last); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := includesItself(t.Context(), reader, types.NamespacedName{Namespace: "team", Name: self}, first); got != circle || err != nil {
			t.Errorf("%s: %t, %v", self, got, err)
		}
	}
}

// archives is a store that only gives.
type archives struct {
	Store
	content []byte
}

func (a archives) OpenArtifact(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(a.content)), nil
}

func TestIncludesTogetherAreBounded(t *testing.T) {
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "a"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	digest, _, err := archive.Pack(t.Context(), from, &packed, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var include []sourcev1.GitRepositoryInclude
	var artifacts []*meta.Artifact
	for i := range 3 {
		one := includeOf("modules")
		one.ToPath = fmt.Sprint("copy-", i)
		include, artifacts = append(include, one), append(artifacts, &meta.Artifact{Digest: digest})
	}
	for limit, fails := range map[int64]bool{2999: true, 3000: false} {
		beside, dir := t.TempDir(), t.TempDir()
		p := newPacks(archives{content: packed.Bytes()}, archive.Limits{MaxUnpacked: limit})
		err := p.copyIncludes(t.Context(), dir, beside, include, artifacts)
		if (err != nil) != fails || fails && !strings.Contains(err.Error(), "the includes exceed the limit") {
			t.Errorf("limit %d: %v", limit, err)
		}
		if left, err := os.ReadDir(beside); !fails && (err != nil || len(left) != 0) {
			t.Errorf("what was unpacked is still there: %v, %v", left, err)
		}
	}
}
