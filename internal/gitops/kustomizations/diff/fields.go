// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Field is a changed field of an object. A missing value is nil.
type Field struct {
	Path   string `json:"path"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// serverFields are set by the API.
var serverFields = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid", "selfLink"}

// lastApplied is kubectl's copy of an object, including a Secret's values.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Fields lists the differences between two manifests of an object, with masked values of Secrets.
func Fields(before, after *unstructured.Unstructured) []Field {
	before, after = before.DeepCopy(), after.DeepCopy()
	if after.GetAPIVersion() == "v1" && after.GetKind() == "Secret" {
		for _, field := range []string{"data", "stringData"} {
			hide(before.Object, after.Object, field)
		}
	}
	return fieldsOf(before, after)
}

const mask = "***"

// hide masks values. Equal values have equal masks.
func hide(before, after map[string]any, field string) {
	was, _ := before[field].(map[string]any)
	is, _ := after[field].(map[string]any)
	for key, value := range was {
		other, still := is[key]
		if was[key] = mask; !still {
			continue
		}
		if is[key] = mask; !equality.Semantic.DeepEqual(value, other) {
			was[key], is[key] = mask+" (before)", mask+" (after)"
		}
	}
	for key := range is {
		if _, had := was[key]; !had {
			is[key] = mask
		}
	}
}

// fieldsOf lists the differences between two states of an object.
func fieldsOf(live, merged *unstructured.Unstructured) []Field {
	for _, u := range []*unstructured.Unstructured{live, merged} {
		unstructured.RemoveNestedField(u.Object, "status")
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", lastApplied)
		for _, field := range serverFields {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
	}
	return differences("", live.Object, merged.Object)
}

func differences(path string, before, after any) []Field {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	from, isMap := before.(map[string]any)
	to, isStill := after.(map[string]any)
	if isMap && isStill {
		all := map[string]any{}
		maps.Copy(all, from)
		maps.Copy(all, to)
		var fields []Field
		for _, key := range slices.Sorted(maps.Keys(all)) {
			fields = append(fields, differences(path+"/"+strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1"), from[key], to[key])...)
		}
		return fields
	}
	was, isList := before.([]any)
	is, isStill := after.([]any)
	if isList && isStill && len(was) == len(is) {
		var fields []Field
		for i := range was {
			fields = append(fields, differences(fmt.Sprintf("%s/%d", path, i), was[i], is[i])...)
		}
		return fields
	}
	return []Field{{Path: path, Before: before, After: after}}
}

// Write writes a change as text. paint colours it.
func (c Change) Write(w io.Writer, paint func(action Action, text string) string) {
	if c.Action == Unchanged || c.Action == Skipped {
		return
	}
	fmt.Fprintln(w, paint(c.Action, fmt.Sprintf("► %s %s", c.Object, c.Action)))
	for _, field := range c.Fields {
		fmt.Fprintf(w, "  %s\n", diagnostic.Printable(field.Path))
		before, after := lines(field.Before), lines(field.After)
		first := 0
		for first < min(len(before), len(after)) && before[first] == after[first] {
			first++
		}
		last := 0
		for last < min(len(before), len(after))-first && before[len(before)-1-last] == after[len(after)-1-last] {
			last++
		}
		for _, line := range before[first : len(before)-last] {
			fmt.Fprintln(w, paint(Deleted, "    - "+line))
		}
		for _, line := range after[first : len(after)-last] {
			fmt.Fprintln(w, paint(Created, "    + "+line))
		}
	}
}

// lines returns a value as lines of text.
func lines(value any) []string {
	if value == nil {
		return nil
	}
	if text, ok := value.(string); ok && text != "" {
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	text, err := yamltext.Marshal(value)
	if err != nil {
		return []string{fmt.Sprint(value)}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
