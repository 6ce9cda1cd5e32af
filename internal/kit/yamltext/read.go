// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"errors"
	"strings"

	"sigs.k8s.io/yaml"
)

// Read decodes a YAML document. An unknown field is an error.
func Read(document []byte, into any) error {
	err := yaml.UnmarshalStrict(document, into)
	if err == nil {
		return nil
	}
	text := err.Error()
	// The way from YAML to JSON means nothing to the author of a document.
	for _, prefix := range []string{"error unmarshaling JSON: ", "while decoding JSON: ", "json: ", "error converting YAML to JSON: ", "yaml: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return errors.New(strings.Replace(text, "cannot unmarshal ", "unexpected ", 1))
}
