// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Format is the format of a file.
type Format int

// The formats of sops.
const (
	Binary Format = iota
	Dotenv
	INI
	JSON
	YAML
)

// String returns the name for errors.
func (f Format) String() string {
	return [...]string{"binary", "dotenv", "INI", "JSON", "YAML"}[f]
}

// marker is a part of every encrypted file of a format.
func (f Format) marker() []byte {
	return []byte([...]string{`"mac": "ENC[`, "sops_mac=ENC[", "[sops]", `"mac": "ENC[`, "mac: ENC["}[f])
}

// FormatOf returns the format for the name of a file or an entry.
func FormatOf(name string) Format {
	if strings.HasSuffix(name, ".dockerconfigjson") {
		return JSON
	}
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return YAML
	case ".json":
		return JSON
	case ".env":
		return Dotenv
	case ".ini":
		return INI
	}
	return Binary
}

// maxFile limits encrypted files, as in Flux.
const maxFile = 5 << 20

// File decrypts and verifies a file. It returns files without encryption unchanged.
func (k *Keys) File(data []byte, format Format) ([]byte, error) {
	if !bytes.Contains(data, format.marker()) {
		return data, nil
	}
	return k.open(data, format, format, true)
}

// Verify checks the authentication codes of the encrypted documents in a file of objects.
func (k *Keys) Verify(data []byte) error {
	if !bytes.Contains(data, []byte("ENC[")) || !bytes.Contains(data, []byte("sops")) {
		return nil
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		if !bytes.Contains(data, []byte(`"sops"`)) {
			return nil
		}
		_, err := k.open(data, JSON, JSON, true)
		return err
	}
	files, err := split(data)
	if err != nil {
		return nil // kustomize will report it
	}
	for _, file := range files {
		if _, err := k.open(file, YAML, YAML, true); err != nil {
			return err
		}
	}
	return nil
}

// split splits documents by their authentication code: sops encrypted those with the same one
// together. It omits documents that are not encrypted, or stay so.
func split(data []byte) ([][]byte, error) {
	var codes []string
	groups := map[string][]*yaml.Node{}
	all := 0
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		all++
		code := scalar(&document, "sops", "mac")
		if code == "" || strings.EqualFold(scalar(&document, "metadata", "annotations", disabledKey), disabled) {
			continue
		}
		if groups[code] == nil {
			codes = append(codes, code)
		}
		groups[code] = append(groups[code], &document)
	}
	if len(codes) == 1 && len(groups[codes[0]]) == all {
		return [][]byte{data}, nil
	}
	var files [][]byte
	for _, code := range codes {
		var file bytes.Buffer
		encoder := yaml.NewEncoder(&file)
		for _, document := range groups[code] {
			if err := encoder.Encode(document); err != nil {
				return nil, err
			}
		}
		if err := encoder.Close(); err != nil {
			return nil, err
		}
		files = append(files, file.Bytes())
	}
	return files, nil
}

// scalar returns the value at a path of keys; empty if there is none.
func scalar(node *yaml.Node, keys ...string) string {
	if node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	for _, key := range keys {
		var found *yaml.Node
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				found = node.Content[i+1]
			}
		}
		if found == nil {
			return ""
		}
		node = found
	}
	if node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}

// open decrypts a file, and converts it to a format.
func (k *Keys) open(data []byte, from, to Format, verify bool) ([]byte, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has %d bytes; the limit for encrypted files is %d", len(data), maxFile)
	}
	return k.opener(Request{Data: data, From: from, To: to, Verify: verify, Keys: k.texts})
}
