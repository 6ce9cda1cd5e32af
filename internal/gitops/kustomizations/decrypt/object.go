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

// Object opens an object: one that sops encrypted, or a Secret with entries that it encrypted. It tells whether there was
// something to open. The object is replaced, not changed in part, so that a failure leaves it as it was.
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

// Disabled tells whether an object is to stay encrypted.
func Disabled(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[disabledKey].(string)
	return strings.EqualFold(value, disabled)
}

// Encrypted tells whether sops encrypted an object as a file.
func Encrypted(object map[string]any) bool {
	section, _ := object["sops"].(map[string]any)
	code, _ := section["mac"].(string)
	return code != ""
}

// whole opens an object that was a file. kustomize has changed it since, so that its code says nothing any more.
func (k *Keys) whole(object map[string]any) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write it as JSON: %w", err)
	}
	plain, err := k.decrypted(data, JSON, JSON, false)
	if err != nil {
		return nil, err
	}
	opened := map[string]any{}
	if err := utiljson.Unmarshal(plain, &opened); err != nil {
		return nil, fmt.Errorf("what was encrypted is no object")
	}
	return opened, nil
}

// entries opens those of a Secret's entries that are files of sops.
func (k *Keys) entries(object map[string]any) (map[string]any, bool, error) {
	data, _ := object["data"].(map[string]any)
	var opened map[string]any
	for _, name := range slices.Sorted(maps.Keys(data)) {
		encoded, _ := data[name].(string)
		file, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			// The API says better what is wrong with it.
			continue
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
		plain, err := k.open(file, from, to)
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

// formatOfContent finds the format of an encrypted file without a name.
func formatOfContent(data []byte) (Format, bool) {
	for _, format := range []Format{Dotenv, INI, YAML, JSON} {
		if bytes.Contains(data, format.marker()) {
			return format, true
		}
	}
	return Binary, false
}

// envelope tells a JSON file from bytes that are in an envelope of JSON: beside sops' own section it has "data" only.
func envelope(file []byte) Format {
	var fields map[string]json.RawMessage
	if json.Unmarshal(file, &fields) == nil && len(fields) == 2 && fields["data"] != nil && fields["sops"] != nil {
		return Binary
	}
	return JSON
}
