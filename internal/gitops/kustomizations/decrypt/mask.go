// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt

import (
	"encoding/base64"
	"strings"
)

// MaskText replaces encrypted values in displayed objects, as in flux.
const MaskText = "**SOPS**"

// maskData is MaskText as an entry of a Secret's data.
var maskData = base64.StdEncoding.EncodeToString([]byte(MaskText))

// IsMask reports whether a value is a mask.
func IsMask(value any) bool { return value == MaskText || value == maskData }

// Mask replaces an object's encrypted values by MaskText and removes sops' section, in place.
func Mask(object map[string]any) {
	secret := object["kind"] == "Secret"
	if Encrypted(object) {
		delete(object, "sops")
		for key, value := range object {
			text := MaskText
			if secret && key == "data" {
				text = maskData
			}
			object[key] = masked(value, text)
		}
	}
	if !secret {
		return
	}
	data, _ := object["data"].(map[string]any)
	for name, value := range data {
		encoded, _ := value.(string)
		if file, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			if _, encrypted := formatOfContent(file); encrypted {
				data[name] = maskData
			}
		}
	}
}

// masked returns a value with masks for encrypted texts.
func masked(value any, text string) any {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(value, "ENC[AES256_GCM,") {
			return text
		}
	case []any:
		for i := range value {
			value[i] = masked(value[i], text)
		}
	case map[string]any:
		for key := range value {
			value[key] = masked(value[key], text)
		}
	}
	return value
}
