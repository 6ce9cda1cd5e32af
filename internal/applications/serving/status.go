// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

type props = apiextensionsv1.JSONSchemaProps

func text(description string) props { return props{Type: "string", Description: description} }

func count(description string) props {
	return props{Type: "integer", Format: "int32", Description: description}
}

func object(description string, fields map[string]props, required ...string) props {
	return props{Type: "object", Description: description, Properties: fields, Required: required}
}

// statusSchema is the schema of [appv1.InstanceStatus]. A test compares the two.
func statusSchema() props {
	condition := object("A condition of the object.", map[string]props{
		"type":               text("The kind of condition, such as Ready."),
		"status":             {Type: "string", Description: "True, False or Unknown.", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"True"`)}, {Raw: []byte(`"False"`)}, {Raw: []byte(`"Unknown"`)}}},
		"reason":             text("Why, in one word."),
		"message":            text("Why, for people."),
		"lastTransitionTime": {Type: "string", Format: "date-time", Description: "When the status of the condition last changed."},
		"observedGeneration": {Type: "integer", Format: "int64", Description: "The generation of the object that the condition is about."},
	}, "type", "status", "reason", "message", "lastTransitionTime")
	resource := object("An object of the instance.", map[string]props{
		"id": text("The id of the resource in the definition."), "apiVersion": text("Its API version."), "kind": text("Its kind."), "name": text("Its name."),
		"state":   text("Its state in one word: Waiting, Progressing, AwaitingApproval, Ready, Failed or Deleting."),
		"message": text("Why, unless it is ready."),
	}, "id", "apiVersion", "kind", "name", "state")
	return object("The observed state. The server writes it.", map[string]props{
		"observedGeneration": {Type: "integer", Format: "int64", Description: "The generation of the object that the status describes."},
		"conditions": {Type: "array", Description: "The conditions: Ready; Reconciling and Stalled only while True.",
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition}, XListType: ptr.To("map"), XListMapKeys: []string{"type"}},
		"phase":            text("The status in one word: Pending, Progressing, AwaitingApproval, Ready, Failed or Deleting."),
		"outputs":          {Type: "object", Description: "What you can use of it, by name. Sensitive values are only in the Secret.", XPreserveUnknownFields: ptr.To(true)},
		"outputsSecretRef": object("The Secret with all outputs, sensitive ones included.", map[string]props{"name": text("The name of the Secret.")}, "name"),
		"outputsDigest":    text("The digest of the outputs that the status shows."),
		"plan": object("The plan that waits for approval; without an id, the last one.", map[string]props{
			"id":      text("The plan's id, by which it is approved."),
			"summary": text("What the plan changes, in words."),
			"add":     count("How many resources it adds."),
			"change":  count("How many resources it changes."),
			"destroy": count("How many resources it destroys."),
		}),
		"revision": object("The revisions of the program.", map[string]props{
			"planned": text("The revision that was last planned."), "applied": text("The revision that was last applied.")}),
		"version":   text("The version of the chart."),
		"namespace": text("The namespace of a tenant."),
		"definition": object("The revision of the definition that the object follows.", map[string]props{
			"revision": {Type: "integer", Format: "int64", Description: "The revision from which the object behind it was last written."},
			"waiting":  {Type: "integer", Format: "int64", Description: "The newer revision that it will get when it has its turn in the rollout."}}),
		"backendRef": object("The object behind it.", map[string]props{"apiVersion": text("Its API version."), "kind": text("Its kind."), "name": text("Its name.")}),
		"resources":  {Type: "array", Description: "The objects of the instance, if it has several.", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &resource}},
	})
}
