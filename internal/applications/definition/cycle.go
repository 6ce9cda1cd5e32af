// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/composition"
)

// Cycle says which kinds would make each other without end if a definition were served: "App -> Database ->
// App"; empty for none. The definitions of a cycle that are served already end with the last one, which
// is refused.
func Cycle(d *appv1.ApplicationDefinition, all []*appv1.ApplicationDefinition) string {
	makes := map[string][]string{}
	for _, other := range all {
		if other.Name != d.Name {
			makes[other.Spec.Application.Kind] = append(makes[other.Spec.Application.Kind], madeBy(other)...)
		}
	}
	start := d.Spec.Application.Kind
	makes[start] = madeBy(d)
	// from is by which kind another one was found.
	from := map[string]string{}
	open := []string{start}
	for len(open) > 0 {
		kind := open[0]
		open = open[1:]
		for _, next := range makes[kind] {
			if next == start {
				return trail(from, start, kind)
			}
			if _, seen := from[next]; !seen {
				from[next] = kind
				open = append(open, next)
			}
		}
	}
	return ""
}

func trail(from map[string]string, start, last string) string {
	path := []string{start}
	for kind := last; kind != start; kind = from[kind] {
		path = append([]string{kind}, path...)
	}
	return strings.Join(append([]string{start}, path...), " -> ")
}

// madeBy are the application kinds that a definition makes, also if it is not valid.
func madeBy(d *appv1.ApplicationDefinition) (kinds []string) {
	if d.Spec.Backend == nil || d.Spec.Backend.Composition == nil {
		return nil
	}
	for _, r := range d.Spec.Backend.Composition.Resources {
		var is struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if json.Unmarshal(r.Template.Raw, &is) == nil && strings.HasPrefix(is.APIVersion, composition.AppsGroup+"/") {
			kinds = append(kinds, is.Kind)
		}
	}
	return kinds
}
