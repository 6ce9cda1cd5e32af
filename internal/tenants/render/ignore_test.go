// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("apiVersion: v1\nkind: Thing\nmetadata: {name: n}\n"+text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestIgnoredFieldsAreAsTheyAre(t *testing.T) {
	for sentence, c := range map[string]struct {
		paths              []string
		wanted, live, want string
	}{
		"a field that somebody has changed":      {[]string{"$.spec.replicas"}, "spec: {replicas: 1, x: 1}", "spec: {replicas: 5, x: 2}", "spec: {replicas: 5, x: 1}"},
		"a field that somebody has taken away":   {[]string{"$.spec.replicas"}, "spec: {replicas: 1, x: 1}", "spec: {x: 2}", "spec: {x: 1}"},
		"a field that the manifest does not say": {[]string{"$.spec.replicas"}, "spec: {x: 1}", "spec: {replicas: 5}", "spec: {x: 1}"},
		"without the dollar":                     {[]string{"spec.replicas"}, "spec: {replicas: 1}", "spec: {replicas: 5}", "spec: {replicas: 5}"},
		"a field of the first of a list":         {[]string{"$.spec.c[0].image"}, "spec: {c: [{image: a}, {image: b}]}", "spec: {c: [{image: x}, {image: y}]}", "spec: {c: [{image: x}, {image: b}]}"},
		"a field of all of a list":               {[]string{"$.spec.c[*].image"}, "spec: {c: [{image: a}, {image: b}]}", "spec: {c: [{image: x}, {image: y}]}", "spec: {c: [{image: x}, {image: y}]}"},
		"of a list that is shorter there":        {[]string{"$.spec.c[*].image"}, "spec: {c: [{image: a}, {image: b, n: 1}]}", "spec: {c: [{image: x}]}", "spec: {c: [{image: x}, {n: 1}]}"},
		"a key with dots":                        {[]string{"$.spec.annotations['a.b/c']"}, "spec: {annotations: {a.b/c: x}}", "spec: {annotations: {a.b/c: y}}", "spec: {annotations: {a.b/c: y}}"},
		"all of a map":                           {[]string{`$.data.*`}, "data: {a: x, b: x}", "data: {a: y}", "data: {a: y}"},
		"two fields":                             {[]string{"$.a", "$.b"}, "{a: 1, b: 1, c: 1}", "{a: 2, b: 2, c: 2}", "{a: 2, b: 2, c: 1}"},
		"a whole part":                           {[]string{"$.spec"}, "spec: {a: 1}", "spec: {b: 1}", "spec: {b: 1}"},
		"where another type is":                  {[]string{"$.spec.a.b"}, "spec: {a: text}", "spec: {a: {b: 1}}", "spec: {a: text}"},
	} {
		t.Run(sentence, func(t *testing.T) {
			text := func(s string) string {
				if strings.HasPrefix(s, "{") {
					return strings.Join(strings.Split(strings.Trim(s, "{}"), ", "), "\n")
				}
				return s
			}
			wanted, live := object(t, text(c.wanted)), object(t, text(c.live))
			before := wanted.DeepCopy()
			got, err := WithIgnored(wanted, live, c.paths)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, text(c.want)).Object, got.Object); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before.Object, wanted.Object); diff != "" {
				t.Errorf("the manifest has changed:\n%s", diff)
			}
		})
	}
}

func TestPathsThatCannotBeRead(t *testing.T) {
	for path, want := range map[string]string{
		"": "does not name a field", "$": "does not name a field", "$.": "a name is missing", "$..image": "not supported", "$.a[": "not closed",
		"$.a['b": "does not end", "$.a[x]": "neither an index", "$.a[-1]": "neither an index", "$.a[0]b": "expected . or [", "$.a[?(@.b)]": "neither an index",
		"$" + strings.Repeat(".a", maxSteps+1): "more than",
	} {
		_, err := parsePath(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := WithIgnored(object(t, "a: 1"), object(t, "a: 1"), []string{"$.metadata"}); err != nil {
		t.Errorf("labels may be ignored with all of the metadata, as long as the name is the same: %v", err)
	}
	other := object(t, "a: 1")
	other.SetName("other")
	if _, err := WithIgnored(object(t, "a: 1"), other, []string{"$.metadata.name"}); err == nil {
		t.Error("the name can be ignored")
	}
}
