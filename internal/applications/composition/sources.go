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
// expression, or as the template of that object names it. The resource then needs the other one.
func (p *parsing) ownSource(r *Resource, t *text, written, kind string) bool {
	if t.whole() {
		if m := ofResource.FindStringSubmatch(t.parts[0].written); m != nil {
			other := p.byID[m[1]]
			if m[2] == fieldSecret {
				return kind == kindSecret && other != nil && other.IsStack()
			}
			return other.isSource(kind)
		}
	}
	for _, other := range p.c.Resources {
		if other != r && (other.isSource(kind) && other.Name(textName) == written || kind == kindSecret && other.namesOutputs(written)) {
			p.need(r, other.ID)
			return true
		}
	}
	return false
}

// namesOutputs reports whether the template of a stack gives the Secret with its outputs a name.
func (r *Resource) namesOutputs(name string) bool {
	spec, _ := r.template["spec"].(map[string]any)
	own, _ := spec[fieldOutputs].(map[string]any)
	return r.IsStack() && own["name"] == name
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
