// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// mangled reports whether readers of YAML refuse or change a character.
func mangled(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// JSON returns the JSON document with those characters escaped. They occur only in its strings.
func JSON(document []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(document); {
		if document[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(document[i:])
		if mangled(r) {
			out = fmt.Appendf(append(out, document[done:i]...), `\u%04x`, r)
			done = i + size
		}
		i += size
	}
	if out == nil {
		return document
	}
	return append(out, document[done:]...)
}

// Marshal writes a value as YAML with its JSON field names.
func Marshal(value any) ([]byte, error) {
	document, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(JSON(document))
}

// Apply is the patch of a server-side apply.
var Apply client.Patch = apply{}

type apply struct{}

// Type implements client.Patch.
func (apply) Type() types.PatchType { return types.ApplyPatchType }

// Data implements client.Patch.
func (apply) Data(obj client.Object) ([]byte, error) {
	document, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", obj.GetName(), err)
	}
	return JSON(document), nil
}
