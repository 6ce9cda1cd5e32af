// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// unordered are lists whose order the tool does not keep.
var unordered = map[string]bool{"dependencies": true, "sensitive_attributes": true, "instances": true}

// digest covers the outputs and resources of a state, in an order that does not depend on the tool.
func digest(d *document) string {
	var resources []json.RawMessage
	for _, r := range d.Resources {
		delete(r, "each") // older tools wrote it, and newer ones drop it
		resources = append(resources, canonical(r, ""))
	}
	outputs := map[string]any{}
	for name, raw := range d.Outputs {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		_ = decoder.Decode(&value) //nolint:errcheck // the whole was decoded
		outputs[name] = value
	}
	h := sha256.New()
	for _, part := range append(sorted(resources), encode(outputs)) {
		h.Write(part)
		h.Write([]byte{'\n'})
	}
	return fmt.Sprintf("sha256:%.12x", h.Sum(nil))
}

// canonical is a part of a resource as JSON: the same for equal ones. Attributes are kept as they are;
// around them, nothing and an empty list are the same.
func canonical(value any, name string) json.RawMessage {
	switch v := value.(type) {
	case map[string]any:
		parts := map[string]json.RawMessage{}
		for key, inner := range v {
			part := encode(inner)
			if key != "attributes" && key != "attributes_flat" {
				part = canonical(inner, key)
			}
			if text := string(part); text != "null" && text != "[]" {
				parts[key] = part
			}
		}
		return encode(parts)
	case []any:
		list := []json.RawMessage{}
		for _, inner := range v {
			list = append(list, canonical(inner, ""))
		}
		if unordered[name] {
			list = sorted(list)
		}
		return encode(list)
	}
	return encode(value)
}

func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode a part of a state: %v. This is a bug in Yuba.", err))
	}
	return text
}
