// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// walk calls visit for every property below a schema, with its path: .spec.vars[].name, with {} for the values of a map.
func walk(path string, props apiextensionsv1.JSONSchemaProps, visit func(path string, props apiextensionsv1.JSONSchemaProps)) {
	for name, child := range props.Properties {
		visit(path+"."+name, child)
		walk(path+"."+name, child, visit)
	}
	if props.Items != nil && props.Items.Schema != nil {
		walk(path+"[]", *props.Items.Schema, visit)
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		walk(path+"{}", *props.AdditionalProperties.Schema, visit)
	}
}

// isKubernetes is true below the fields whose types, and so whose comments, are Kubernetes' own.
func isKubernetes(path string) bool {
	for _, field := range []string{
		".spec.env[]", ".spec.envFrom[]", ".valueFrom.", ".spec.runnerPodTemplate.spec.affinity.", ".spec.runnerPodTemplate.spec.env",
		".tolerations[]", ".volumes[]", ".volumeMounts[]", ".initContainers[]", ".hostAliases[]", ".securityContext.", ".resources.",
		".status.conditions[]", ".cliConfigSecretRef.",
	} {
		if strings.Contains(path, field) {
			return true
		}
	}
	return false
}

func TestExplainHelpsOnEveryField(t *testing.T) {
	d := load(t, terraforms)
	root := *d.version.Schema.OpenAPIV3Schema
	count := 0
	walk("", root, func(path string, props apiextensionsv1.JSONSchemaProps) {
		if path == ".metadata" || isKubernetes(path) {
			return
		}
		count++
		if len(strings.Fields(props.Description)) < 3 {
			t.Errorf("%s is described as %q", path, props.Description)
		}
	})
	if count < 150 {
		t.Errorf("only %d fields were looked at", count)
	}
}

// additions are the fields of the spec that tofu-controller does not have.
var additions = []string{"consumes", "dedicatedRunnerPod", "driftDetectionInterval", "env", "envFrom", "identityTokens", "inline", "outputGrants", "publishes", "tool"}

func TestFieldsThatOnlyYubaHasSaySo(t *testing.T) {
	d := load(t, terraforms)
	var got []string
	for name, props := range d.version.Schema.OpenAPIV3Schema.Properties["spec"].Properties {
		if strings.HasPrefix(props.Description, "(Yuba) ") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(additions, got); diff != "" {
		t.Errorf("additive fields (-want +got):\n%s", diff)
	}
}

func TestTheFullManifestHasEveryField(t *testing.T) {
	d := load(t, terraforms)
	manifest := read(t, "full.yaml")
	var missing []string
	present := map[string]bool{}
	paths("", decode(t, manifest), present)
	walk("", *d.version.Schema.OpenAPIV3Schema, func(path string, _ apiextensionsv1.JSONSchemaProps) {
		if !isKubernetes(path) && !present[path] {
			missing = append(missing, path)
		}
	})
	slices.Sort(missing)
	if len(missing) != 0 {
		t.Errorf("testdata/full.yaml lacks\n%s", strings.Join(missing, "\n"))
	}

	object := decode(t, manifest)
	if unknown, errs := d.admit(t, object); len(unknown) != 0 || len(errs) != 0 {
		t.Errorf("unknown fields %v, errors %v", unknown, errs)
	}
}

func TestManifestsSurviveTheirGoTypes(t *testing.T) {
	for _, file := range []string{"full.yaml", "small.yaml"} {
		t.Run(file, func(t *testing.T) {
			manifest := read(t, file)
			var object infrav1.Terraform
			if err := yaml.UnmarshalStrict(manifest, &object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(toYAML(t, decode(t, manifest)), toYAML(t, object.DeepCopy())); diff != "" {
				t.Errorf("after a round trip (-want +got):\n%s", diff)
			}
		})
	}
}

// paths collects the paths of an object's fields, written as walk writes them.
func paths(path string, value any, into map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			into[path+"."+name] = true
			paths(path+"."+name, child, into)
		}
	case []any:
		for _, child := range value {
			paths(path+"[]", child, into)
		}
	}
}
