// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

//go:embed definitions.json
var definitions []byte

// parsed are the definitions by name. References in them are names of definitions.
var parsed = sync.OnceValue(func() map[string]spec.Schema {
	schemas := map[string]spec.Schema{}
	if err := json.Unmarshal(definitions, &schemas); err != nil {
		panic(fmt.Sprintf("definitions.json, which is generated and part of the program: %v", err))
	}
	return schemas
})

// Definitions describes the types of the served kinds, each with its own references. It is a
// [common.GetOpenAPIDefinitions].
func Definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := make(map[string]common.OpenAPIDefinition, len(parsed()))
	for name, schema := range parsed() {
		c := copier{ref: ref}
		definition := common.OpenAPIDefinition{Schema: c.schema(schema)}
		if old, ok := schema.Extensions[common.ExtensionV2Schema]; ok {
			definition.Schema.Extensions[common.ExtensionV2Schema] = schemaOf(old)
		}
		slices.Sort(c.named)
		definition.Dependencies = slices.Compact(c.named)
		all[name] = definition
	}
	return all
}

// schemaOf parses a schema from a generic value.
func schemaOf(value any) spec.Schema {
	var schema spec.Schema
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	if err != nil {
		panic(fmt.Sprintf("definitions.json, which is generated and part of the program: %s: %v", common.ExtensionV2Schema, err))
	}
	return schema
}

// copier copies a schema down to its references, and records what they name.
type copier struct {
	ref   common.ReferenceCallback
	named []string
}

func (c *copier) schema(s spec.Schema) spec.Schema {
	if name := s.Ref.String(); name != "" {
		c.named = append(c.named, name)
		s.Ref = c.ref(name)
	}
	s.Extensions = maps.Clone(s.Extensions) // builders modify them
	if s.Items != nil && s.Items.Schema != nil {
		s.Items = &spec.SchemaOrArray{Schema: c.pointer(s.Items.Schema)}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: s.AdditionalProperties.Allows, Schema: c.pointer(s.AdditionalProperties.Schema)}
	}
	if s.AllOf != nil {
		s.AllOf = slices.Clone(s.AllOf)
		for i := range s.AllOf {
			s.AllOf[i] = c.schema(s.AllOf[i])
		}
	}
	if s.Properties != nil {
		properties := make(map[string]spec.Schema, len(s.Properties))
		for name, property := range s.Properties {
			properties[name] = c.schema(property)
		}
		s.Properties = properties
	}
	return s
}

func (c *copier) pointer(s *spec.Schema) *spec.Schema {
	copied := c.schema(*s)
	return &copied
}
