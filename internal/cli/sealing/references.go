// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"maps"
	"slices"
	"strings"
)

// references are the names of the Secrets and ConfigMaps of its own namespace that an object names.
type references struct{ secrets, configMaps map[string]bool }

// referencesOf finds references by the names of fields, so that it knows those of all kinds: secretRef,
// secretKeyRef, secretName, {kind: Secret, name: …}, and the same for ConfigMaps.
func referencesOf(object map[string]any) references {
	found := references{map[string]bool{}, map[string]bool{}}
	found.walk("", object["spec"])
	return found
}

func (f references) secretNames() []string    { return slices.Sorted(maps.Keys(f.secrets)) }
func (f references) configMapNames() []string { return slices.Sorted(maps.Keys(f.configMaps)) }

// produced are fields that name what the object writes.
var produced = []string{"writeOutputsToSecret"}

func (f references) walk(field string, value any) {
	switch v := value.(type) {
	case map[string]any:
		name, _ := v["name"].(string) //nolint:errcheck // none
		kind, _ := v["kind"].(string) //nolint:errcheck // none
		if name != "" {
			f.note(field, kind, name)
		}
		for key, inner := range v {
			if slices.Contains(produced, key) {
				continue
			}
			lower := strings.ToLower(key)
			if text, ok := inner.(string); ok && strings.HasSuffix(lower, "secretname") {
				f.secrets[text] = true
			}
			f.walk(key, inner)
		}
	case []any:
		for _, inner := range v {
			f.walk(field, inner)
		}
	}
}

func (f references) note(field, kind, name string) {
	lower := strings.ToLower(field)
	switch {
	case kind == "Secret", kind == "" && (strings.Contains(lower, "secret") || lower == "credentialsref"):
		f.secrets[name] = true
	case kind == "ConfigMap", kind == "" && strings.Contains(lower, "configmap"):
		f.configMaps[name] = true
	}
}
