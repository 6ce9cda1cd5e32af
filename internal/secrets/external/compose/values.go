// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxParts bounds a property, and maxTotal the names of all keys together, which rewriting makes longer.
const (
	maxParts = 64
	maxTotal = 4 << 20
)

// Property returns a part of a value that is a JSON object: the attribute of this name, or of a path such as
// db.hosts.0.
func Property(value []byte, property string) ([]byte, error) {
	if parts := strings.Count(property, ".") + 1; parts > maxParts { // each reads the rest of the value again
		return nil, fmt.Errorf("the property has %d parts, and may have %d", parts, maxParts)
	}
	object, err := attributes(value)
	if err != nil {
		return nil, fmt.Errorf("select the property %q: %w", property, err)
	}
	if found, ok := object[property]; ok {
		return text(found), nil
	}
	at := json.RawMessage(value)
	for part := range strings.SplitSeq(property, ".") {
		if at = step(at, part); at == nil {
			return nil, fmt.Errorf("the secret has no property %q", property)
		}
	}
	return text(at), nil
}

// step returns the attribute or element of a JSON value; nil if there is none.
func step(at json.RawMessage, part string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(at, &object) == nil && object != nil {
		return object[part]
	}
	var list []json.RawMessage
	n, err := strconv.Atoi(part)
	if json.Unmarshal(at, &list) != nil || err != nil || n < 0 || n >= len(list) {
		return nil
	}
	return list[n]
}

// Extract returns the attributes of a value that is a JSON object.
func Extract(value []byte) (map[string][]byte, error) {
	object, err := attributes(value)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for key, raw := range object {
		out[key] = text(raw)
	}
	return out, nil
}

func attributes(value []byte) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) != nil || object == nil { // the error may quote the value
		return nil, errors.New("the secret is not a JSON object")
	}
	return object, nil
}

// text is a JSON value as it is in a Secret: strings without quotes, null as nothing, the rest as JSON.
func text(raw json.RawMessage) []byte {
	var s string
	if json.Unmarshal(raw, &s) == nil { // also null
		return []byte(s)
	}
	return raw
}

// Decode decodes a value.
func Decode(strategy string, value []byte) ([]byte, error) {
	var encodings []*base64.Encoding
	switch strategy {
	case "", "None":
		return value, nil
	case "Base64":
		encodings = []*base64.Encoding{base64.StdEncoding}
	case "Base64URL":
		encodings = []*base64.Encoding{base64.URLEncoding, base64.RawURLEncoding}
	default: // Auto
		encodings = []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding}
	}
	for _, e := range encodings {
		if out, err := e.DecodeString(strings.TrimSpace(string(value))); err == nil {
			return out, nil
		}
	}
	if strategy == "Auto" {
		return value, nil
	}
	return nil, fmt.Errorf("it is not encoded as %s, which decodingStrategy says", strategy)
}

// DecodeAll decodes values.
func DecodeAll(strategy string, data map[string][]byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	for key, value := range data {
		var err error
		if out[key], err = Decode(strategy, value); err != nil {
			return nil, fmt.Errorf("decode %s: %w", key, err)
		}
	}
	return out, nil
}

// Convert replaces the characters that keys of a Secret cannot have.
func Convert(strategy string, data map[string][]byte) (map[string][]byte, error) {
	return rename(data, func(key string) (string, error) {
		var out strings.Builder
		for _, c := range key {
			switch {
			case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
				out.WriteRune(c)
			case strategy == "Unicode":
				fmt.Fprintf(&out, "_U%04x_", c)
			default:
				out.WriteByte('_')
			}
		}
		return out.String(), nil
	})
}

// rename renames keys. Two of the same name are an error, and so are those that are too long before or after.
func rename(data map[string][]byte, how func(string) (string, error)) (map[string][]byte, error) {
	out := map[string][]byte{}
	from := map[string]string{}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if len(key) > maxKey {
			return nil, tooLong(key)
		}
		name, err := how(key)
		if err != nil {
			return nil, err
		}
		if len(name) > maxKey {
			return nil, tooLong(name)
		}
		if size += len(name); size > maxTotal {
			return nil, fmt.Errorf("the names of the keys have more than %d bytes together", maxTotal)
		}
		if other, taken := from[name]; taken {
			return nil, fmt.Errorf("the keys %q and %q both become %q. Rename them with rewrite", other, key, name)
		}
		out[name], from[name] = data[key], key
	}
	return out, nil
}

func tooLong(key string) error {
	return fmt.Errorf("the key %q… has %d bytes, and may have %d", strings.ToValidUTF8(key[:32], ""), len(key), maxKey)
}

// Check fails if keys cannot be keys of a Secret.
func Check(data map[string][]byte) error {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if len(validation.IsConfigMapKey(key)) > 0 {
			return fmt.Errorf("%q cannot be a key of a Secret: only letters, digits, -, _ and . can. Rename it with rewrite", key)
		}
	}
	return nil
}
