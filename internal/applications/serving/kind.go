// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
)

// Category is the category of all application kinds: kubectl get applications.
const Category = "applications"

// Name is the name of the CustomResourceDefinition of a kind.
func Name(plural string) string { return plural + "." + appv1.InstanceVersion.Group }

// Kind makes the CustomResourceDefinition of a definition.
func Kind(d *definition.Definition) (*apiextensionsv1.CustomResourceDefinition, error) {
	a := d.Application
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: Name(a.Plural), Labels: map[string]string{appv1.LabelDefinition: d.Name},
			Annotations: map[string]string{appv1.AnnotationBackend: string(d.Backend), appv1.AnnotationPrefix: d.Prefix}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: appv1.InstanceVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: a.Kind, ListKind: a.Kind + "List", Plural: a.Plural, Singular: a.Singular, Categories: []string{Category}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: appv1.InstanceVersion.Version, Served: true, Storage: true,
				Schema:                   &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schemaOf(d)},
				Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: columns(d),
			}},
		},
	}
	content, err := json.Marshal(crd)
	if err != nil {
		return nil, fmt.Errorf("write the kind of definition %s: %w", d.Name, err)
	}
	digest := sha256.Sum256(content)
	crd.Annotations[appv1.AnnotationMade] = "sha256:" + hex.EncodeToString(digest[:])
	return crd, nil
}

// schemaOf is the schema of whole objects.
func schemaOf(d *definition.Definition) *apiextensionsv1.JSONSchemaProps {
	spec := *d.Schema.Spec.DeepCopy()
	if spec.Description == "" {
		spec.Description = "The desired state."
	}
	root := &apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: describe(d),
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"apiVersion": {Type: "string"},
			"kind":       {Type: "string"},
			"metadata": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"name": {Type: "string", MaxLength: ptr.To(int64(appv1.MaxName - d.Overhead())), Pattern: namePattern(d)},
			}},
			"appVersion": {Type: "string", Description: "The version that the object was written for. Kept for Cozystack's tools."},
			"spec":       spec,
			"status":     statusSchema(),
		},
	}
	if d.Schema.Optional {
		spec.Default = &apiextensionsv1.JSON{Raw: []byte("{}")}
		root.Properties["spec"] = spec
	} else {
		root.Required = []string{"spec"}
	}
	return root
}

// namePattern is that of names: with Helm, those of releases of Cozystack. The namespaces of tenants join
// their names with dashes.
func namePattern(d *definition.Definition) string {
	if d.Backend == appv1.BackendTenant {
		return "^[a-z][a-z0-9]*$"
	}
	if d.Backend == appv1.BackendHelm && d.Prefix == "" {
		return "^[a-z]([a-z0-9-]*[a-z0-9])?$"
	}
	return "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
}

func describe(d *definition.Definition) string {
	if d.Schema.Spec.Title != "" && d.Schema.Spec.Title != "Chart Values" {
		return d.Schema.Spec.Title
	}
	return d.Application.Kind + " is an application kind, which the definition " + d.Name + " declares."
}

func columns(d *definition.Definition) []apiextensionsv1.CustomResourceColumnDefinition {
	ready := `.status.conditions[?(@.type=="Ready")]`
	list := []apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "Ready", Type: "string", JSONPath: ready + ".status", Description: "Whether it is as the spec says."},
		{Name: "Status", Type: "string", JSONPath: ".status.phase", Description: "The status in one word."},
	}
	switch d.Backend {
	case appv1.BackendTerraform, appv1.BackendComposition:
		list = append(list, apiextensionsv1.CustomResourceColumnDefinition{Name: "Plan", Type: "string", JSONPath: ".status.plan.id", Description: "The plan that waits for approval."})
	case appv1.BackendTenant:
		list = append(list, apiextensionsv1.CustomResourceColumnDefinition{Name: "Namespace", Type: "string", JSONPath: ".status.namespace", Description: "The namespace of the tenant."})
	case appv1.BackendHelm:
		list = append(list, apiextensionsv1.CustomResourceColumnDefinition{Name: "Version", Type: "string", JSONPath: ".status.version", Description: "The version of the chart."})
	}
	return append(list,
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: "Time since it was created."},
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Message", Type: "string", Priority: 1, JSONPath: ready + ".message", Description: "The message of the condition Ready."})
}
