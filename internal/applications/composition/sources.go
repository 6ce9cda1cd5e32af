// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition

import (
	"regexp"
	"slices"
	"strconv"
)

// isSourceName reports whether a field names a Secret or ConfigMap whose values are read. Users must not
// choose it: they could have the values of others, such as the state of another stack, shown to them.
func isSourceName(path []string) bool {
	return slices.ContainsFunc([]string{"varsFrom", "valuesFrom"}, func(field string) bool {
		return matches([]string{"spec", field, "*", "name"}, path)
	})
}

// ofResource is the only expression that names a source.
var ofResource = regexp.MustCompile(`^resources\.([A-Za-z0-9]+)\.(name|outputsSecret)$`)

// ownSource reports whether a text names an object of a kind that belongs to the instance: by an
// expression, or as the template of that object names it.
func (p *parsing) ownSource(t *text, written, kind string) bool {
	if t.whole() {
		m := ofResource.FindStringSubmatch(t.parts[0].written)
		if m == nil {
			return false
		}
		other := p.byID[m[1]]
		if m[2] == fieldSecret {
			return kind == kindSecret && other != nil && other.IsStack()
		}
		return other.isSource(kind)
	}
	for _, other := range p.byID {
		if other.isSource(kind) && other.Name(textName) == written {
			return true
		}
		if spec, _ := other.template["spec"].(map[string]any); other.IsStack() && kind == kindSecret {
			own, _ := spec[fieldOutputs].(map[string]any)
			if own["name"] == written {
				return true
			}
		}
	}
	return false
}

func (r *Resource) isSource(kind string) bool {
	return r != nil && r.GVK.Group == "" && r.GVK.Kind == kind && (kind == kindSecret || kind == kindConfigMap)
}

// kindBeside is the kind in the element of a list that has a name: spec, the field, the element, name.
func kindBeside(template map[string]any, path []string) string {
	spec, _ := template[path[0]].(map[string]any)
	list, _ := spec[path[1]].([]any)
	at, err := strconv.Atoi(path[2])
	if err != nil || at < 0 || at >= len(list) {
		return ""
	}
	element, _ := list[at].(map[string]any)
	kind, _ := element["kind"].(string)
	return kind
}
