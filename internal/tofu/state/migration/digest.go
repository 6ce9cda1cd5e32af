// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
)

// unordered are lists whose order the tool does not keep.
var unordered = map[string]bool{"dependencies": true, "sensitive_attributes": true}

// digest covers the outputs and resources of a state, in an order that does not depend on the tool.
func (r *reader) digest() string {
	return fmt.Sprintf("sha256:%.12x", sum(append(sorted(r.of), r.out)...))
}

// sum is a digest of parts.
func sum(parts ...[]byte) []byte {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return h.Sum(nil)
}

func sorted[T ~[]byte](list []T) []T {
	slices.SortFunc(list, func(a, b T) int { return bytes.Compare(a, b) })
	return list
}

// canonical is a resource without its instances, or an instance, as JSON: the same for equal ones. Attributes are kept as they are;
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
