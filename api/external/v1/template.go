// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

// ExternalSecretTemplate renders the target.
type ExternalSecretTemplate struct {
	// Type is that of the Secret.
	// +optional
	Type string `json:"type,omitempty"`
	// EngineVersion is that of the language, v2: Go templates with functions of sprig.
	// +kubebuilder:validation:Enum=v2
	// +kubebuilder:default="v2"
	EngineVersion string `json:"engineVersion,omitempty"`
	// Metadata are labels and annotations of the Secret.
	// +optional
	Metadata ExternalSecretTemplateMetadata `json:"metadata,omitempty"`
	// MergePolicy is Replace, for only the keys of the template, or Merge, for also those of the store.
	// +kubebuilder:validation:Enum=Replace;Merge
	// +kubebuilder:default="Replace"
	MergePolicy string `json:"mergePolicy,omitempty"`
	// Data has a template for each key.
	// +optional
	Data map[string]string `json:"data,omitempty"`
	// TemplateFrom are templates of ConfigMaps and Secrets of the namespace.
	// +optional
	TemplateFrom []TemplateFrom `json:"templateFrom,omitempty"`
}

// TemplateMerge also writes the keys of the store.
const TemplateMerge = "Merge"

// ExternalSecretTemplateMetadata are labels and annotations.
type ExternalSecretTemplateMetadata struct {
	// Annotations are templates.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels are templates.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Finalizers are those of the Secret. Yuba does not set them.
	// +optional
	Finalizers []string `json:"finalizers,omitempty"`
}

// The targets of templates, and how keys are read.
const (
	TargetData        = "Data"
	TargetAnnotations = "Annotations"
	TargetLabels      = "Labels"

	ScopeValues        = "Values"
	ScopeKeysAndValues = "KeysAndValues"
)

// TemplateFrom is a ConfigMap, a Secret or a text with templates.
type TemplateFrom struct {
	// ConfigMap is a ConfigMap of the namespace.
	// +optional
	ConfigMap *TemplateRef `json:"configMap,omitempty"`
	// Secret is a Secret of the namespace.
	// +optional
	Secret *TemplateRef `json:"secret,omitempty"`
	// Target is what the templates make.
	// +optional
	// +kubebuilder:validation:Enum=Data;Annotations;Labels
	// +kubebuilder:default="Data"
	Target string `json:"target,omitempty"`
	// Literal is a template whose result is YAML: keys and values.
	// +optional
	Literal *string `json:"literal,omitempty"`
}

// TemplateRef names an object with templates.
type TemplateRef struct {
	// Name is that of the object.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:Pattern:=^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$
	Name string `json:"name"`
	// Items are the keys of the object.
	Items []TemplateRefItem `json:"items"`
}

// TemplateRefItem names a key of an object.
type TemplateRefItem struct {
	// Key is a key of the object.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:Pattern:=^[-._a-zA-Z0-9]+$
	Key string `json:"key"`
	// TemplateAs is Values, for a template of one value, or KeysAndValues, for one whose result is YAML.
	// +kubebuilder:validation:Enum=Values;KeysAndValues
	// +kubebuilder:default="Values"
	TemplateAs string `json:"templateAs,omitempty"`
}

// ExternalSecretRewrite changes names of keys. Exactly one field is set.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type ExternalSecretRewrite struct {
	// Merge makes the attributes of values that are JSON objects keys of their own.
	// +optional
	Merge *ExternalSecretRewriteMerge `json:"merge,omitempty"`
	// Regexp replaces parts of names.
	// +optional
	Regexp *ExternalSecretRewriteRegexp `json:"regexp,omitempty"`
	// Transform renders names.
	// +optional
	Transform *ExternalSecretRewriteTransform `json:"transform,omitempty"`
}

// ExternalSecretRewriteMerge merges values that are JSON objects.
type ExternalSecretRewriteMerge struct {
	// Into is the key of the merged object, with the strategy JSON.
	// +optional
	// +kubebuilder:default=""
	Into string `json:"into,omitempty"`
	// Priority are keys whose attributes win, the last one first.
	// +optional
	Priority []string `json:"priority,omitempty"`
	// PriorityPolicy says whether keys of priority may be missing.
	// +optional
	// +kubebuilder:validation:Enum=IgnoreNotFound;Strict
	// +kubebuilder:default="Strict"
	PriorityPolicy string `json:"priorityPolicy,omitempty"`
	// ConflictPolicy says whether an attribute may be in several objects.
	// +optional
	// +kubebuilder:validation:Enum=Ignore;Error
	// +kubebuilder:default="Error"
	ConflictPolicy string `json:"conflictPolicy,omitempty"`
	// Strategy is Extract, for a key of each attribute, or JSON, for one key.
	// +optional
	// +kubebuilder:validation:Enum=Extract;JSON
	// +kubebuilder:default="Extract"
	Strategy string `json:"strategy,omitempty"`
}

// ExternalSecretRewriteRegexp replaces parts of names.
type ExternalSecretRewriteRegexp struct {
	// Source is a regular expression.
	Source string `json:"source"`
	// Target replaces what it matches; $1 is its first group.
	Target string `json:"target"`
}

// ExternalSecretRewriteTransform renders names.
type ExternalSecretRewriteTransform struct {
	// Template is a template; .value is the name.
	Template string `json:"template"`
}
