// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestBlockedByManager(t *testing.T) {
	const head = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
	for sentence, c := range map[string]struct {
		manager string
		want    string
	}{
		"a Kustomization that is gone does not block": {"", ""},
		"an active one does":                          {"metadata: {namespace: flux-system, name: apps}\nspec: {prune: true}", "kubectl patch kustomization apps -n flux-system"},
		"a suspended one does not":                    {"metadata: {namespace: flux-system, name: apps}\nspec: {suspend: true}", ""},
		"nor one that is only a copy":                 {"metadata: {namespace: flux-system, name: apps, annotations: {yuba.dev/moved-to: \"{}\"}}\nspec: {}", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var manager *unstructured.Unstructured
			if c.manager != "" {
				manager = object(t, head+c.manager)
			}
			if got := BlockedByManager(manager, "laptop"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
