// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const (
	terraforms        = "infra.contrib.fluxcd.io_terraforms.yaml"
	externalArtifacts = "source.toolkit.fluxcd.io_externalartifacts.yaml"
)

// definition is a CRD together with what an API server makes of the schema of one version.
type definition struct {
	apiextensionsv1.CustomResourceDefinition
	version    apiextensionsv1.CustomResourceDefinitionVersion
	schema     *schema.Structural
	properties validation.SchemaValidator
	rules      *cel.Validator
}

// load reads a definition, with the version that is stored.
func load(t *testing.T, file string) definition {
	t.Helper()
	return loadVersion(t, file, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
}

// loadVersion reads a definition, with the one version that the caller wants.
func loadVersion(t *testing.T, file string, wanted func(apiextensionsv1.CustomResourceDefinitionVersion) bool) definition {
	t.Helper()
	data, err := FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d definition
	if err := yaml.UnmarshalStrict(data, &d.CustomResourceDefinition); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	at := slices.IndexFunc(d.Spec.Versions, wanted)
	if at < 0 {
		t.Fatalf("%s lacks the version", file)
	}
	d.version = d.Spec.Versions[at]
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		d.version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	if d.schema, err = schema.NewStructural(&props); err != nil {
		t.Fatalf("%s is not structural: %v", file, err)
	}
	if d.properties, _, err = validation.NewSchemaValidator(&props); err != nil {
		t.Fatal(err)
	}
	d.rules = cel.NewValidator(d.schema, true, celconfig.PerCallLimit)
	return d
}

// admit does with an object what an API server does before it stores one: it drops and names unknown fields, fills in
// defaults and validates.
func (d definition) admit(t *testing.T, object map[string]any) (unknown []string, errs field.ErrorList) {
	t.Helper()
	unknown = pruning.PruneWithOptions(object, d.schema, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(object, d.schema)
	errs = validation.ValidateCustomResource(nil, object, d.properties)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.schema, object)...)
	ruled, _ := d.rules.Validate(t.Context(), nil, d.schema, object, nil, celconfig.RuntimeCELCostBudget)
	return unknown, append(errs, ruled...)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, manifest []byte) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.UnmarshalStrict(manifest, &object); err != nil {
		t.Fatalf("read manifest: %v", err)
	}
	return object
}

func TestAnAPIServerTakesEveryDefinition(t *testing.T) {
	files, err := fs.Glob(FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 17 {
		t.Errorf("definitions are %v, want those of Terraform, CircuitBreaker, Contract, ContractBridge, FailoverRecord, ModuleSource, Platform, PullRequestPlanner, the two of subdomains, the two of policies, ExternalArtifact, ApplicationDefinition and the three of tenants", files)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			d := load(t, file)
			apiextensionsv1.SetDefaults_CustomResourceDefinition(&d.CustomResourceDefinition)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&d.Spec)
			d.Status.StoredVersions = []string{d.version.Name}
			var internal apiextensions.CustomResourceDefinition
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
				&d.CustomResourceDefinition, &internal, nil); err != nil {
				t.Fatal(err)
			}
			for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), &internal) {
				t.Error(err)
			}
		})
	}
}

func TestExternalArtifactIsFluxs(t *testing.T) {
	d := load(t, externalArtifacts)
	if got, want := d.Name, "externalartifacts.source.toolkit.fluxcd.io"; got != want {
		t.Errorf("name is %s, want %s", got, want)
	}
	unknown, errs := d.admit(t, decode(t, read(t, "externalartifact.yaml")))
	if len(unknown) != 0 || len(errs) != 0 {
		t.Errorf("unknown fields %v, errors %v", unknown, errs)
	}
}
