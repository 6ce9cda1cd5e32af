// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/go-cmp/cmp"
)

// many is a tree of n objects in n files.
func many(n int) map[string]string {
	tree := make(map[string]string, n)
	for i := range n {
		tree[fmt.Sprintf("%02d/stack-%05d.yaml", i%50, i)] = fmt.Sprintf("apiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata:\n  name: stack-%d\n  namespace: ${tenant}\n  labels: {tenant: \"${tenant}\"}\nspec:\n  interval: 10m\n  approvePlan: auto\n  path: ./network\n  sourceRef: {kind: OCIRepository, name: network}\n  vars:\n  - {name: a, value: \"${tenant}\"}\n", i)
	}
	return tree
}

func TestTenThousandFilesAreBuilt(t *testing.T) {
	result, err := Build(t.Context(), Input{Object: spec(func(s *kustomizev1.KustomizationSpec) {
		s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"tenant": "a"}}
	}), Dir: files(t, many(10_000)), Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Objects) != 10_000 {
		t.Errorf("%d objects", len(result.Objects))
	}
}

func TestManyFilesAreBuiltInPartsAndAsWhole(t *testing.T) {
	tree := many(3*partFiles + 1)
	tree["00/web.yaml"], tree["zz/ns.yaml"] = strings.ReplaceAll(web, "namespace: apps", "namespace: other"), namespace
	change := func(s *kustomizev1.KustomizationSpec) {
		s.TargetNamespace = "prod"
		s.Images = []kustomize.Image{{Name: "shop/web", NewTag: "9"}}
		s.BuildMetadata = []kustomizev1.BuildMetadataOption{kustomizev1.BuildMetadataOriginAnnotations}
	}
	built := func(t *testing.T, tree map[string]string) *Result {
		t.Helper()
		result, err := Build(t.Context(), Input{Object: spec(change), Dir: files(t, tree)})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	t.Run("as Flux builds it", func(t *testing.T) {
		if diff := cmp.Diff(asFlux(t, tree, spec(change), nil, false), built(t, tree).Objects); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("with bindings, which refer to others", func(t *testing.T) {
		tree := maps.Clone(tree)
		tree["zz/roles.yaml"] = strings.ReplaceAll(roles, "namespace: apps", "namespace: other")
		if diff := cmp.Diff(asFlux(t, tree, spec(change), nil, false), built(t, tree).Objects); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("with an object that comes twice", func(t *testing.T) {
		tree := maps.Clone(tree)
		tree["zz/again.yaml"] = tree["00/web.yaml"]
		_, err := Build(t.Context(), Input{Object: spec(change), Dir: files(t, tree)})
		if err == nil || !strings.Contains(err.Error(), "Deployment other/web is in 00/web.yaml:1 and in zz/again.yaml:1; keep one") {
			t.Errorf("error: %v", err)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{100, 1000} {
		dir := files(b, many(n))
		for name, change := range map[string]func(*kustomizev1.KustomizationSpec){
			"plain": nil,
			"substituted": func(s *kustomizev1.KustomizationSpec) {
				s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"tenant": "a"}}
			},
			"namespace": func(s *kustomizev1.KustomizationSpec) { s.TargetNamespace = "prod" },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := Build(b.Context(), Input{Object: spec(change), Dir: dir}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
