// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"encoding/json"
)

// PlainJSON encodes a value, indented, without the escapes for HTML: "->", not "-\u003e".
func PlainJSON(value any) ([]byte, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return unescapeHTML(data.Bytes()), nil
}

// escapesOfHTML are the escapes of encoding/json for HTML. Values that tofu encoded have them, too.
var escapesOfHTML = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}

// unescapeHTML undoes these escapes.
func unescapeHTML(data []byte) []byte {
	plain := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' || i+1 == len(data) {
			plain = append(plain, data[i])
			continue
		}
		if i+6 <= len(data) {
			if c, ok := escapesOfHTML[string(data[i:i+6])]; ok {
				plain = append(plain, c)
				i += 5
				continue
			}
		}
		plain = append(plain, data[i], data[i+1])
		i++
	}
	return plain
}
