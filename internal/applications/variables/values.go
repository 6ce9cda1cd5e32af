// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Values returns the variables of a spec, as JSON. Fields that are absent or null have none, so the
// module's defaults apply.
func (t *Table) Values(spec map[string]any) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for _, root := range t.roots {
		value, there := find(spec, root.keys)
		if !there {
			continue
		}
		renamed, err := root.rename(value)
		if err != nil {
			return nil, err
		}
		text, err := marshal(renamed)
		if err != nil {
			return nil, fmt.Errorf("writing spec.%s as JSON: %w", root.path, err)
		}
		values[root.name] = text
	}
	return values, nil
}

// find follows keys. Null counts as absent.
func find(spec map[string]any, keys []string) (any, bool) {
	var value any = spec
	for _, key := range keys {
		fields, is := value.(map[string]any)
		if !is {
			return nil, false
		}
		value = fields[key]
	}
	return value, value != nil
}

// rename returns a value with the names of the module.
func (p *part) rename(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		return p.renameObject(value)
	case []any:
		if p.element == nil {
			return value, nil
		}
		renamed := make([]any, len(value))
		for i := range value {
			inner, err := p.element.rename(value[i])
			if err != nil {
				return nil, err
			}
			renamed[i] = inner
		}
		return renamed, nil
	}
	return value, nil
}

func (p *part) renameObject(value map[string]any) (any, error) {
	renamed := make(map[string]any, len(value))
	for _, key := range slices.Sorted(maps.Keys(value)) {
		name, below := key, p.element
		if field := p.fields[key]; field != nil {
			name, below = field.name, field
		}
		inner := value[key]
		if below != nil {
			var err error
			if inner, err = below.rename(inner); err != nil {
				return nil, err
			}
		}
		if _, twice := renamed[name]; twice {
			return nil, fmt.Errorf("spec.%s has two values for %q after renaming: remove one of its keys", finding.Child(p.path, key), shorten.CutBytes(name, maxShown))
		}
		renamed[name] = inner
	}
	return renamed, nil
}

func marshal(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
