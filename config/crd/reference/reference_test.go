// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const kindFolder = "../../../api/infra/v1alpha2"

func page(t *testing.T) string {
	t.Helper()
	text, err := render(kindFolder)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestThePageSaysWhatUsersAskFor(t *testing.T) {
	text := page(t)
	for sentence, line := range map[string]string{
		"a required field":                     "| `interval` | duration | **required** | How often",
		"a default":                            "| `workspace` | string | `default` | The workspace",
		"allowed values":                       "| `sourceRef.kind` | GitRepository, Bucket, OCIRepository, ExternalArtifact | **required** |",
		"a field of a list":                    "| `varsFrom[].varsKeys` | list of string |",
		"a map":                                "| `inline` | map of string |",
		"any JSON":                             "| `vars[].value` | any |",
		"a type of Kubernetes, which ends it":  "| `env` | list of `EnvVar` |",
		"the status":                           "| `plan.pending` | string | The id of the pending plan.",
		"what Flux's libraries add":            "| `lastHandledReconcileAt` | string |",
		"the tree of conditions":               "├── Apply ",
		"a reason that a word of Flux is":      "| `Progressing` | work is in progress. |",
		"an annotation that Flux's tools know": "| `reconcile.fluxcd.io/requestedAt` | requests a reconciliation",
		"a finalizer":                          "| `finalizers.tf.contrib.fluxcd.io` |",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("%s: no %q", sentence, line)
		}
	}
}

func TestTheMarkOfAFieldIsThatOfTheTableOfSupport(t *testing.T) {
	kind, err := readDefinition()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[infrav1.Support]bool{}
	for _, r := range rows("spec", reflect.TypeFor[infrav1.TerraformSpec](), kind.Properties["spec"]) {
		want := infrav1.SupportOf(r.path).Support
		seen[want] = true
		if !strings.Contains(r.mark(), string(want)) {
			t.Errorf("%s is marked %q, want %q", r.path, r.mark(), want)
		}
		if r.description == "" || r.typ == "" {
			t.Errorf("%s has the type %q and the description %q", r.path, r.typ, r.description)
		}
	}
	if !seen[infrav1.SupportWorks] || !seen[infrav1.SupportPods] {
		t.Errorf("only these marks were seen: %v", seen)
	}
}

func TestTheLegendExplainsTheMarksThatAreUsed(t *testing.T) {
	for _, mark := range marks {
		text := legend([]row{{support: infrav1.FieldSupport{Support: mark.support}}})
		for _, other := range marks {
			if explained := strings.Contains(text, "- **"+string(other.support)+"**: "); explained != (other == mark) {
				t.Errorf("for a field that is %q, the legend explains %q: %v", mark.support, other.support, explained)
			}
		}
	}
}

func TestARestrictedMarkSaysWhatStillWorks(t *testing.T) {
	r := row{support: infrav1.FieldSupport{Support: infrav1.SupportRefused, When: "with a|b", Note: "Use c."}}
	if got, want := r.mark(), `works; with a\|b: not yet: the stack does not run. Use c.`; got != want {
		t.Errorf("the mark is %q, want %q", got, want)
	}
}

func TestEveryFieldOfTheDefinitionIsOnThePage(t *testing.T) {
	kind, err := readDefinition()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for part, of := range map[string]reflect.Type{"spec": reflect.TypeFor[infrav1.TerraformSpec](), "status": reflect.TypeFor[infrav1.TerraformStatus]()} {
		for _, r := range rows(part, of, kind.Properties[part]) {
			listed[r.path] = true
		}
		for name := range kind.Properties[part].Properties {
			if !listed[part+"."+name] {
				t.Errorf("%s.%s is not listed", part, name)
			}
		}
	}
	if len(listed) < 150 {
		t.Errorf("only %d fields are listed", len(listed))
	}
}

func TestTypesAreNamed(t *testing.T) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	for want, test := range map[string]struct {
		props apiextensionsv1.JSONSchemaProps
		of    reflect.Type
	}{
		"string":         {text, reflect.TypeFor[string]()},
		"time":           {apiextensionsv1.JSONSchemaProps{Type: "string", Format: "date-time"}, reflect.TypeFor[string]()},
		"yes, no":        {apiextensionsv1.JSONSchemaProps{Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"yes"`)}, {Raw: []byte(`"no"`)}}}, reflect.TypeFor[string]()},
		"list of string": {apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}}, reflect.TypeFor[[]string]()},
		"any":            {apiextensionsv1.JSONSchemaProps{}, reflect.TypeFor[apiextensionsv1.JSON]()},
		"object":         {apiextensionsv1.JSONSchemaProps{Type: "object"}, reflect.TypeFor[*infrav1.PlanSpec]()},
	} {
		if got := typeOf(test.props, test.of); got != want {
			t.Errorf("%s is named %q", want, got)
		}
	}
}

func TestAConstantWithoutACommentIsAnError(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"names.go":      "package p\n// Annotations.\nconst (\n\tAnnotationX = \"x\"\n)\n",
		"conditions.go": "package p\n// Conditions.\nconst ConditionX = \"X\"\n// Reasons.\nconst (\n\t// ReasonX: x.\n\tReasonX = \"X\"\n)\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := render(folder); err == nil || !strings.Contains(err.Error(), "AnnotationX has no comment") {
		t.Errorf("error %v, want one that names AnnotationX", err)
	}
}
