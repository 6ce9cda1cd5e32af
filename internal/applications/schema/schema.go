// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Schema is the schema of an application's spec.
type Schema struct {
	// Spec is structural: the schema of the field spec in a CustomResourceDefinition.
	Spec apiextensionsv1.JSONSchemaProps
	// Optional is true if an instance may leave out its spec: {} is valid then.
	Optional bool
	// Internal are the keys with an underscore, which are not in Spec.
	Internal []string
	// Extensions are the form keys, by path in the spec.
	Extensions map[string]map[string]json.RawMessage
	// Notes are the relaxations.
	Notes finding.List

	order      map[string][]string
	structural *structural.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// Parse reads a schema. It returns nil if the findings contain errors.
func Parse(text string) (*Schema, finding.List) {
	document, wrong := read(text)
	if wrong != nil {
		return nil, finding.List{{Severity: finding.Error, Field: wrong.at, Problem: wrong.what, Advice: wrong.advice}}
	}
	c := newConverter(document)
	props := c.root(document)
	if c.list.Err() == nil {
		c.list = append(c.list, refusals(&props)...)
	}
	sorted(c.list)
	if c.list.Err() != nil {
		return nil, c.list
	}
	s := &Schema{Spec: props, Internal: c.internal, Extensions: c.forms, Notes: c.list, order: c.order}
	if err := s.prepare(); err != nil {
		c.list.Add(finding.Error, "", "This is a bug in Yuba.", "the schema cannot be compiled: %v", err)
		return nil, c.list
	}
	s.Optional = s.Validate(s.Default(map[string]any{})).Err() == nil
	return s, c.list
}

// sorted sorts findings: errors first, in the order of their fields.
func sorted(list finding.List) {
	slices.SortStableFunc(list, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Field, b.Field))
	})
}

// internalProps converts to the type that the API server works with.
func internalProps(props *apiextensionsv1.JSONSchemaProps) (*apiextensions.JSONSchemaProps, error) {
	var inner apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &inner, nil)
	return &inner, err
}

// prepare compiles what checks instances.
func (s *Schema) prepare() error {
	inner, err := internalProps(&s.Spec)
	if err != nil {
		return err
	}
	if s.structural, err = structural.NewStructural(inner); err != nil {
		return err
	}
	if s.validator, _, err = validation.NewSchemaValidator(inner); err != nil {
		return err
	}
	s.rules = cel.NewValidator(s.structural, false, celconfig.PerCallLimit)
	return nil
}

// Default returns a copy of a spec with the defaults that the API server fills in, without fields
// that the schema does not have.
func (s *Schema) Default(spec map[string]any) map[string]any {
	full := clone(spec)
	pruning.Prune(full, s.structural, false)
	defaulting.PruneNonNullableNullsWithoutDefaults(full, s.structural)
	defaulting.Default(full, s.structural)
	return full
}

// Dropped lists the fields of a spec that the schema does not have: the API server prunes them.
func (s *Schema) Dropped(spec map[string]any) []string {
	return pruning.PruneWithOptions(clone(spec), s.structural, false, structural.UnknownFieldPathOptions{
		TrackUnknownFieldPaths: true, ParentPath: []string{"spec"},
	})
}

// Validate reports why the API server refuses a spec. It does not fill in defaults.
func (s *Schema) Validate(spec map[string]any) (list finding.List) {
	at := field.NewPath("spec")
	value := clone(spec)
	errs := validation.ValidateCustomResource(at, value, s.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(at, s.structural, value)...)
	if len(errs) == 0 && s.rules != nil {
		errs, _ = s.rules.Validate(context.Background(), at, s.structural, value, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, err := range errs {
		list = append(list, finding.Finding{Severity: finding.Error, Field: shorten.CutBytes(err.Field, maxMessage), Problem: detail(err)})
	}
	sorted(list)
	return slices.Compact(list)
}

// detail returns the text of an error without the value: it may be secret, and long.
func detail(err *field.Error) string {
	switch err.Type {
	case field.ErrorTypeRequired:
		return "a value is required"
	case field.ErrorTypeNotSupported:
		return "the value is not one of the allowed ones: " + shorten.CutBytes(strings.TrimPrefix(err.Detail, "supported values: "), maxMessage)
	}
	text := err.Detail
	// The texts of the validator repeat the path: "spec.size in body must be of type string: …".
	if _, after, found := strings.Cut(text, "in body "); found {
		text = after
	}
	if kind, value, found := strings.Cut(text, ": "); found && strings.HasPrefix(kind, "must be of type ") {
		text = kind + ", not " + strings.Trim(value, "\"")
	}
	if text == "" {
		text = strings.ToLower(err.Type.String())
	}
	return shorten.CutBytes(text, maxMessage)
}

// maxMessage limits texts of the API server's validation, which repeat parts of the schema.
const maxMessage = 400

func clone(spec map[string]any) map[string]any {
	if spec == nil {
		return map[string]any{}
	}
	return runtime.DeepCopyJSON(spec)
}

// internalKey reports whether a key of a spec is the platform's.
func internalKey(key string) bool { return strings.HasPrefix(key, "_") }

// WithoutInternal returns a copy of a spec without the keys that only the platform sets. A schema
// that allows any key cannot refuse them.
func WithoutInternal(spec map[string]any) map[string]any {
	public := clone(spec)
	for key := range public {
		if internalKey(key) {
			delete(public, key)
		}
	}
	return public
}
