// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/openapi"
)

// reference finds what a description refers to.
var reference = regexp.MustCompile(`"\$ref":\s*"#/(?:components/schemas|definitions)/([^"]+)"`)

// TestDescriptionsAreComplete: only some of Kubernetes' types are described, so nothing may refer
// to one of the others.
func TestDescriptionsAreComplete(t *testing.T) {
	client := clientOf(t, shared).Discovery()
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"api/v1", "apis/rbac.authorization.k8s.io/v1", "apis/apiextensions.k8s.io/v1"} {
		if paths[want] == nil {
			t.Errorf("%s is not described", want)
		}
	}
	for path, group := range paths {
		checkReferences(t, path, describe(t, group))
	}
	whole, err := client.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkReferences(t, "/openapi/v2", whole)
}

func describe(t *testing.T, group openapi.GroupVersion) []byte {
	t.Helper()
	data, err := group.Schema("application/json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func checkReferences(t *testing.T, path string, data []byte) {
	t.Helper()
	var described struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
		Definitions map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(data, &described); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, match := range reference.FindAllSubmatch(data, -1) {
		name := strings.ReplaceAll(string(match[1]), "~1", "/")
		if described.Components.Schemas[name] == nil && described.Definitions[name] == nil {
			t.Errorf("%s refers to %s, which it does not describe", path, name)
		}
	}
}
