// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestWhichKindsHaveAStatus(t *testing.T) {
	for sentence, c := range map[string]struct {
		version string
		want    bool
	}{
		"one with a part of its own for it": {"{name: v1, subresources: {status: {}}}", true},
		"one with a field for it":           {"{name: v1, schema: {openAPIV3Schema: {properties: {status: {type: object}}}}}", true},
		"one that takes everything":         {"{name: v1, schema: {openAPIV3Schema: {x-kubernetes-preserve-unknown-fields: true}}}", true},
		"one without":                       {"{name: v1, schema: {openAPIV3Schema: {properties: {spec: {type: object}}}}}", false},
		"another version":                   {"{name: v2}", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte("spec: {versions: ["+c.version+"]}"), &u.Object); err != nil {
				t.Fatal(err)
			}
			if got := definesStatus(u, "v1"); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}
