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

func TestUnchangeable(t *testing.T) {
	binding := KindOf("RoleBinding")
	for sentence, c := range map[string]struct {
		kind         Kind
		live, wanted string
		want         string
	}{
		"a Secret can get other data":           {Secrets, "data: {a: eA==}", "data: {a: eQ==}", ""},
		"an immutable one cannot":               {Secrets, "immutable: true\ndata: {a: eA==}", "immutable: true\ndata: {a: eQ==}", "immutable"},
		"unless it is equal":                    {Secrets, "immutable: true\ndata: {a: eA==}", "immutable: true\ndata: {a: eA==}", ""},
		"nor can it become changeable":          {Secrets, "immutable: true\ndata: {a: eA==}", "data: {a: eQ==}", "immutable"},
		"an immutable ConfigMap cannot, either": {ConfigMaps, "immutable: true\ndata: {a: x}", "data: {a: y}", "immutable"},
		"the type of a Secret cannot change":    {Secrets, "type: kubernetes.io/tls", "type: Opaque", "its type"},
		"without one, it is Opaque":             {Secrets, "data: {}", "type: Opaque", ""},
		"a RoleBinding can get other subjects":  {binding, "roleRef: {name: a}", "roleRef: {name: a}\nsubjects: [{name: x}]", ""},
		"but not another role":                  {binding, "roleRef: {name: a}", "roleRef: {name: b}", "roleRef"},
	} {
		t.Run(sentence, func(t *testing.T) {
			head := "apiVersion: v1\nkind: " + c.kind.GK.Kind + "\nmetadata: {namespace: team, name: x}\n"
			if got := Unchangeable(c.kind, object(t, head+c.live), object(t, head+c.wanted)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
