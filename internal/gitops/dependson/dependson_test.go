// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dependson

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestCycle(t *testing.T) {
	for sentence, test := range map[string]struct {
		edges map[string]string
		want  []string
	}{
		"nothing depends":                     {map[string]string{}, nil},
		"a chain":                             {map[string]string{"a": "b", "b": "c"}, nil},
		"itself":                              {map[string]string{"a": "a"}, []string{"n/a"}},
		"a long cycle":                        {map[string]string{"a": "b", "b": "c", "c": "a"}, []string{"n/a", "n/b", "n/c"}},
		"the shorter of two":                  {map[string]string{"a": "bc", "b": "d", "d": "a", "c": "a"}, []string{"n/a", "n/c"}},
		"a cycle that it only depends on":     {map[string]string{"a": "b", "b": "c", "c": "b"}, nil},
		"something that depends on it only":   {map[string]string{"b": "a"}, nil},
		"two ways to the same, and no circle": {map[string]string{"a": "bc", "b": "d", "c": "d"}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := Cycle(types.NamespacedName{Namespace: "n", Name: "a"}, func(n types.NamespacedName) (next []types.NamespacedName, err error) {
				for _, c := range test.edges[n.Name] {
					next = append(next, types.NamespacedName{Namespace: "n", Name: string(c)})
				}
				return next, nil
			})
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := Cycle(types.NamespacedName{}, func(types.NamespacedName) ([]types.NamespacedName, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestReady(t *testing.T) {
	self := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"version": "2"}}}
	dep := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"version": "2"}}}
	for text, want := range map[string]string{
		"self.metadata.labels.version == dep.metadata.labels.version": "true",
		"dep.metadata.labels.version == '1'":                          "false",
		"dep.metadata.labels.missing == '1'":                          "failed to evaluate",
		"dep.":                                                        "failed to parse",
		"'text'":                                                      "type mismatch",
	} {
		ready, err := NewReady(text)
		got := ""
		if err == nil {
			var ok bool
			if ok, err = ready.Holds(t.Context(), self, dep); ok {
				got = "true"
			} else {
				got = "false"
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if none, err := NewReady(""); none != nil || err != nil {
		t.Errorf("an empty expression is %v, %v", none, err)
	}
}
