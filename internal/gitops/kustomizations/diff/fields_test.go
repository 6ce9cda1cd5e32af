// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestFieldsOfManifests(t *testing.T) {
	for sentence, test := range map[string]struct {
		before, after string
		want          []Field
	}{
		"nothing": {`{apiVersion: v1, kind: ConfigMap, data: {a: x}}`, `{kind: ConfigMap, apiVersion: v1, data: {a: x}}`, nil},
		"what the server sets is no difference": {`{apiVersion: v1, kind: ConfigMap, metadata: {uid: "1", resourceVersion: "2"}, status: {a: b}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {}}`, nil},
		"a field that is new, one that is gone, one that differs": {`{apiVersion: v1, kind: ConfigMap, data: {a: x, b: x}}`, `{apiVersion: v1, kind: ConfigMap, data: {b: "y", c: z}}`,
			[]Field{{Path: "/data/a", Before: "x"}, {Path: "/data/b", Before: "x", After: "y"}, {Path: "/data/c", After: "z"}}},
		"values of Secrets are masked": {`{apiVersion: v1, kind: Secret, stringData: {a: s3cr3t, b: s3cr3t, same: s3cr3t}}`, `{apiVersion: v1, kind: Secret, stringData: {b: n3w, c: n3w, same: s3cr3t}}`,
			[]Field{{Path: "/stringData/a", Before: "***"}, {Path: "/stringData/b", Before: "*** (before)", After: "*** (after)"}, {Path: "/stringData/c", After: "***"}}},
		"those in base64, too": {`{apiVersion: v1, kind: Secret, data: {a: czNjcjN0}}`, `{apiVersion: v1, kind: Secret, data: {a: bjN3}}`,
			[]Field{{Path: "/data/a", Before: "*** (before)", After: "*** (after)"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			before, after := read(t, test.before), read(t, test.after)
			if diff := cmp.Diff(test.want, Fields(before, after)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(read(t, test.before), before) + cmp.Diff(read(t, test.after), after); diff != "" {
				t.Errorf("the compared object was changed: %s", diff)
			}
		})
	}
}
