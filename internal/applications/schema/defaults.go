// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// fillDefault completes the default of an object or list with the defaults inside of it. The API
// server fills them in whenever it uses the default, but refuses a default that is not valid before.
func fillDefault(p *props) {
	if p.Default == nil {
		return
	}
	var value any
	if json.Unmarshal(p.Default.Raw, &value) != nil {
		return
	}
	if !fill(value, p) {
		return
	}
	if text, err := json.Marshal(value); err == nil {
		p.Default.Raw = text
	}
}

// fill adds defaults to a value. It reports whether there were any.
func fill(value any, p *props) (changed bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range p.Properties {
			if _, is := value[name]; !is && field.Default != nil {
				var missing any
				if json.Unmarshal(field.Default.Raw, &missing) == nil {
					value[name], changed = missing, true
				}
			}
		}
		for name := range value {
			if field := fieldOf(p, name); field != nil && fill(value[name], field) {
				changed = true
			}
		}
	case []any:
		for i := range value {
			if p.Items != nil && p.Items.Schema != nil && fill(value[i], p.Items.Schema) {
				changed = true
			}
		}
	}
	return changed
}

// fieldOf returns the schema of a key, or nil.
func fieldOf(p *props, name string) *apiextensionsv1.JSONSchemaProps {
	if field, is := p.Properties[name]; is {
		return &field
	}
	if p.AdditionalProperties != nil {
		return p.AdditionalProperties.Schema
	}
	return nil
}
