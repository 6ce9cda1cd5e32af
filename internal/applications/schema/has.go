// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// HasField reports whether the schema has the field of a path of names. It has all fields where it does
// not say which there are.
func (s *Schema) HasField(path []string) bool {
	at := &s.Spec
	for _, name := range path {
		props, ok := at.Properties[name]
		more := at.AdditionalProperties
		switch {
		case ok:
			at = &props
		case more != nil && more.Schema != nil:
			at = more.Schema
		case more != nil && more.Allows || open(at):
			return true
		default:
			return false
		}
	}
	return true
}

// open reports whether an object may have any fields.
func open(p *apiextensionsv1.JSONSchemaProps) bool {
	return p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields || p.XEmbeddedResource
}
