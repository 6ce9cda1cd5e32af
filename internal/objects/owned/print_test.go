// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPrints(t *testing.T) {
	object := func(change func(*metav1.PartialObjectMetadata)) Print {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "5",
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}}
		if change != nil {
			change(m)
		}
		return PrintOf(m)
	}
	for sentence, c := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		same   bool
	}{
		"nothing":                    {nil, true},
		"the status":                 {func(m *metav1.PartialObjectMetadata) { m.ResourceVersion = "6" }, true},
		"the spec":                   {func(m *metav1.PartialObjectMetadata) { m.Generation, m.ResourceVersion = 2, "6" }, false},
		"a label":                    {func(m *metav1.PartialObjectMetadata) { m.Labels["a"] = "x" }, false},
		"a label into an annotation": {func(m *metav1.PartialObjectMetadata) { m.Labels, m.Annotations = m.Annotations, m.Labels }, false},
		"another object of the name": {func(m *metav1.PartialObjectMetadata) { m.UID = "v" }, false},
		"its deletion":               {func(m *metav1.PartialObjectMetadata) { m.DeletionTimestamp = &metav1.Time{} }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := object(nil).Same(object(c.change)); got != c.same {
				t.Errorf("the same: %v", got)
			}
		})
	}
	uncounted := func(version string) Print {
		return object(func(m *metav1.PartialObjectMetadata) { m.Generation, m.ResourceVersion = 0, version })
	}
	if uncounted("5").Same(uncounted("6")) || !uncounted("5").Same(uncounted("5")) {
		t.Error("of a kind without generations the version counts")
	}
	if !Older("9", "10") || Older("10", "9") || Older("10", "10") || Older("", "1") {
		t.Error("versions are numbers")
	}
}
