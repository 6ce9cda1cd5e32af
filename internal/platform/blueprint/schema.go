// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// definitionFile has the definition of the kind.
const definitionFile = "yuba.dev_platforms.yaml"

// definition is what an API server makes of the definition of the kind.
type definition struct {
	published  apiextensionsv1.JSONSchemaProps
	schema     *schema.Structural
	properties validation.SchemaValidator
	rules      *cel.Validator
}

var load = sync.OnceValues(func() (*definition, error) {
	text, err := crd.FS.ReadFile(definitionFile)
	if err != nil {
		return nil, fmt.Errorf("read the definition of Platform: %w", err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read the definition of Platform: %w", err)
	}
	known := &definition{published: *d.Spec.Versions[0].Schema.OpenAPIV3Schema}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&known.published, &props, nil); err != nil {
		return nil, fmt.Errorf("read the schema of Platform: %w", err)
	}
	if known.schema, err = schema.NewStructural(&props); err != nil {
		return nil, fmt.Errorf("read the schema of Platform: %w", err)
	}
	if known.properties, _, err = validation.NewSchemaValidator(&props); err != nil {
		return nil, fmt.Errorf("read the schema of Platform: %w", err)
	}
	known.rules = cel.NewValidator(known.schema, true, celconfig.PerCallLimit)
	return known, nil
})

// admit does with an object what an API server does before it stores it: it fills in defaults, and finds unknown
// fields and wrong values.
func admit(object map[string]any) (problems []plan.Problem, err error) {
	d, err := load()
	if err != nil {
		return nil, err
	}
	for _, path := range pruning.PruneWithOptions(object, d.schema, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		problems = append(problems, plan.Problem{Field: path, Message: "the kind has no such field; check the spelling and the indentation"})
	}
	defaulting.Default(object, d.schema)
	errs := validation.ValidateCustomResource(nil, object, d.properties)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.schema, object)...)
	if len(errs) == 0 { // rules expect values of the right types
		errs, _ = d.rules.Validate(context.Background(), nil, d.schema, object, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, e := range errs {
		problems = append(problems, plan.Problem{Field: e.Field, Message: messageOf(e)})
	}
	slices.SortStableFunc(problems, func(a, b plan.Problem) int { return strings.Compare(a.Field, b.Field) })
	return problems, nil
}

// messageOf is an error without the value. It says what is allowed.
func messageOf(e *field.Error) string {
	switch {
	case e.Type == field.ErrorTypeRequired:
		return "a value is required"
	case e.Type == field.ErrorTypeNotSupported, e.Detail == "":
		return shorten.Fit(e.ErrorBody(), 300)
	}
	return shorten.Fit(strings.TrimPrefix(e.Detail, e.Field+" in body "), 300)
}

// Schema is the JSON schema of a blueprint.
func Schema() ([]byte, error) {
	d, err := load()
	if err != nil {
		return nil, err
	}
	s := d.published.DeepCopy()
	delete(s.Properties, "status")
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	document["$schema"], document["title"] = "https://json-schema.org/draft/2020-12/schema", "Platform"
	if text, err = json.MarshalIndent(document, "", "  "); err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return append(text, '\n'), nil
}
