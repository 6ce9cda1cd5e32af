// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
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
