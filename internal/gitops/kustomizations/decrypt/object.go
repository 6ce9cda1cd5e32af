// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const (
	// disabledKey annotates objects that stay encrypted.
	disabledKey = "kustomize.toolkit.fluxcd.io/decrypt"
	disabled    = "disabled"
)

// Object decrypts an encrypted object, or a Secret with encrypted entries, without changing its
// argument. It reports whether it decrypted anything.
func (k *Keys) Object(object map[string]any) (map[string]any, bool, error) {
	switch {
	case Disabled(object):
		return object, false, nil
	case Encrypted(object):
		opened, err := k.whole(object)
		return opened, err == nil, err
	case object["kind"] == "Secret":
		return k.entries(object)
	}
	return object, false, nil
}

// Disabled reports whether an object stays encrypted.
func Disabled(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[disabledKey].(string)
	return strings.EqualFold(value, disabled)
}

// Encrypted reports whether an object is an encrypted file.
func Encrypted(object map[string]any) bool {
	section, _ := object["sops"].(map[string]any)
	code, _ := section["mac"].(string)
	return code != ""
}

// whole decrypts an object that was a file. Its code is no longer valid: kustomize changed it.
func (k *Keys) whole(object map[string]any) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write it as JSON: %w", err)
	}
	plain, err := k.open(data, JSON, JSON, false)
	if err != nil {
		return nil, err
	}
	opened := map[string]any{}
	if err := utiljson.Unmarshal(plain, &opened); err != nil {
		return nil, fmt.Errorf("the decrypted data is not an object")
	}
	return opened, nil
}

// entries decrypts the encrypted entries of a Secret.
func (k *Keys) entries(object map[string]any) (map[string]any, bool, error) {
	data, _ := object["data"].(map[string]any)
	var opened map[string]any
	for _, name := range slices.Sorted(maps.Keys(data)) {
		encoded, _ := data[name].(string)
		file, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue // the API will report it
		}
		from, encrypted := formatOfContent(file)
		if !encrypted {
			continue
		}
		to := FormatOf(name)
		switch {
		case from == JSON && to == Binary:
			from = envelope(file)
			to = from
		case to == Binary:
			to = from
		}
		plain, err := k.open(file, from, to, true)
		if err != nil {
			return nil, false, fmt.Errorf("entry %q: %w", name, err)
		}
		if opened == nil {
			opened = maps.Clone(data)
		}
		opened[name] = base64.StdEncoding.EncodeToString(plain)
	}
	if opened == nil {
		return object, false, nil
	}
	object = maps.Clone(object)
	object["data"] = opened
	return object, true, nil
}

// formatOfContent returns the format of an encrypted file without a name.
func formatOfContent(data []byte) (Format, bool) {
	for _, format := range []Format{Dotenv, INI, YAML, JSON} {
		if bytes.Contains(data, format.marker()) {
			return format, true
		}
	}
	return Binary, false
}

// envelope tells a JSON file from bytes in a JSON envelope, which has only "data" and "sops".
func envelope(file []byte) Format {
	var fields map[string]json.RawMessage
	if json.Unmarshal(file, &fields) == nil && len(fields) == 2 && fields["data"] != nil && fields["sops"] != nil {
		return Binary
	}
	return JSON
}
