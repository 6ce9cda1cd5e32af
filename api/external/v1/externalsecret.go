// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretStoreRef names a store.
type SecretStoreRef struct {
	// Name is that of the store.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:Pattern:=^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$
	Name string `json:"name,omitempty"`
	// Kind is SecretStore (the default) or ClusterSecretStore.
	// +optional
	// +kubebuilder:validation:Enum=SecretStore;ClusterSecretStore
	Kind string `json:"kind,omitempty"`
}

// The policies of targets.
const (
	CreateOwner  = "Owner"
	CreateOrphan = "Orphan"
	CreateMerge  = "Merge"
	CreateNone   = "None"

	DeleteRetain = "Retain"
	DeleteDelete = "Delete"
	DeleteMerge  = "Merge"
)

// ExternalSecretTarget is the Secret to write.
type ExternalSecretTarget struct {
	// Name is that of the Secret. The default is the name of the ExternalSecret.
	// +optional
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:Pattern:=^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$
	Name string `json:"name,omitempty"`
	// CreationPolicy says whose the Secret is. Owner creates it, and it is deleted with the ExternalSecret;
	// Orphan creates it, and it stays; Merge adds keys to a Secret that exists; None writes nothing.
	// +optional
	// +kubebuilder:validation:Enum=Owner;Orphan;Merge;None
	// +kubebuilder:default="Owner"
	CreationPolicy string `json:"creationPolicy,omitempty"`
	// DeletionPolicy says what happens when the store no longer has the secrets. Retain keeps the Secret, and
	// the condition is an error; Delete deletes it; Merge removes their keys.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Merge;Retain
	// +kubebuilder:default="Retain"
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// Template renders the Secret.
	// +optional
	Template *ExternalSecretTemplate `json:"template,omitempty"`
	// Immutable makes the Secret immutable: it is written once.
	// +optional
	Immutable bool `json:"immutable,omitempty"`
}

// ExternalSecretData is one key of the target.
type ExternalSecretData struct {
	// SecretKey is the key in the target.
	// +kubebuilder:validation:MinLength:=1
	// +kubebuilder:validation:MaxLength:=253
	// +kubebuilder:validation:Pattern:=^[-._a-zA-Z0-9]+$
	SecretKey string `json:"secretKey"`
	// RemoteRef is the secret in the store.
	RemoteRef ExternalSecretDataRemoteRef `json:"remoteRef"`
	// SourceRef names another store than that of the spec.
	// +optional
	SourceRef *StoreSourceRef `json:"sourceRef,omitempty"`
}

// ExternalSecretDataRemoteRef names a secret of a store.
type ExternalSecretDataRemoteRef struct {
	// Key is the name of the secret.
	Key string `json:"key"`
	// MetadataPolicy is None, for the value. Yuba does not read tags (Fetch).
	// +optional
	// +kubebuilder:validation:Enum=None;Fetch
	// +kubebuilder:default="None"
	MetadataPolicy string `json:"metadataPolicy,omitempty"`
	// Property selects a part of a secret that is a JSON object: a key, or a path such as db.password.
	// +optional
	Property string `json:"property,omitempty"`
	// Version is that of the secret; empty for the current one.
	// +optional
	Version string `json:"version,omitempty"`
	// ConversionStrategy replaces the characters that keys of a Secret cannot have: by _ (Default), or by _U and
	// their number (Unicode).
	// +optional
	// +kubebuilder:validation:Enum=Default;Unicode
	// +kubebuilder:default="Default"
	ConversionStrategy string `json:"conversionStrategy,omitempty"`
	// DecodingStrategy decodes the value.
	// +optional
	// +kubebuilder:validation:Enum=Auto;Base64;Base64URL;None
	// +kubebuilder:default="None"
	DecodingStrategy string `json:"decodingStrategy,omitempty"`
}

// ExternalSecretDataFromRemoteRef are several keys of the target.
type ExternalSecretDataFromRemoteRef struct {
	// Extract makes keys of the attributes of one secret, which is a JSON object.
	// +optional
	Extract *ExternalSecretDataRemoteRef `json:"extract,omitempty"`
	// Find makes a key of each secret that it selects.
	// +optional
	Find *ExternalSecretFind `json:"find,omitempty"`
	// Rewrite changes the names of the keys, one step after the other.
	// +optional
	Rewrite []ExternalSecretRewrite `json:"rewrite,omitempty"`
	// SourceRef names another store than that of the spec.
	// +optional
	SourceRef *StoreGeneratorSourceRef `json:"sourceRef,omitempty"`
}

// ExternalSecretFind selects secrets of a store.
type ExternalSecretFind struct {
	// Path is where to search.
	// +optional
	Path *string `json:"path,omitempty"`
	// Name selects by name.
	// +optional
	Name *FindName `json:"name,omitempty"`
	// Tags selects by tags or labels, in stores that have them.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ConversionStrategy replaces the characters that keys of a Secret cannot have.
	// +optional
	// +kubebuilder:validation:Enum=Default;Unicode
	// +kubebuilder:default="Default"
	ConversionStrategy string `json:"conversionStrategy,omitempty"`
	// DecodingStrategy decodes the values.
	// +optional
	// +kubebuilder:validation:Enum=Auto;Base64;Base64URL;None
	// +kubebuilder:default="None"
	DecodingStrategy string `json:"decodingStrategy,omitempty"`
}

// FindName selects by name.
type FindName struct {
	// RegExp is a regular expression for names.
	// +optional
	RegExp string `json:"regexp,omitempty"`
}

// StoreSourceRef names a store.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type StoreSourceRef struct {
	// SecretStoreRef names the store.
	// +optional
	SecretStoreRef SecretStoreRef `json:"storeRef,omitempty"`
	// GeneratorRef names a generator. Yuba has none: it makes secrets with "yuba secrets".
	// +optional
	GeneratorRef *GeneratorRef `json:"generatorRef,omitempty"`
}

// StoreGeneratorSourceRef names a store.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type StoreGeneratorSourceRef struct {
	// SecretStoreRef names the store.
	// +optional
	SecretStoreRef *SecretStoreRef `json:"storeRef,omitempty"`
	// GeneratorRef names a generator. Yuba has none: it makes secrets with "yuba secrets".
	// +optional
	GeneratorRef *GeneratorRef `json:"generatorRef,omitempty"`
}

// GeneratorRef names a generator.
type GeneratorRef struct {
	// APIVersion is that of the generator.
	// +kubebuilder:default="generators.external-secrets.io/v1alpha1"
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is that of the generator.
	Kind string `json:"kind"`
	// Name is that of the generator.
	Name string `json:"name"`
}

// The policies of refreshes.
const (
	RefreshCreatedOnce = "CreatedOnce"
	RefreshPeriodic    = "Periodic"
	RefreshOnChange    = "OnChange"
)

// ExternalSecretSpec says which secrets become keys of which Secret.
type ExternalSecretSpec struct {
	// SecretStoreRef names the store.
	// +optional
	SecretStoreRef SecretStoreRef `json:"secretStoreRef,omitempty"`
	// Target is the Secret to write.
	// +kubebuilder:default={creationPolicy:Owner,deletionPolicy:Retain}
	// +optional
	Target ExternalSecretTarget `json:"target,omitempty"`
	// RefreshPolicy says when secrets are read again: Periodic (the default), OnChange of this object, or
	// CreatedOnce.
	// +optional
	// +kubebuilder:validation:Enum=CreatedOnce;Periodic;OnChange
	RefreshPolicy string `json:"refreshPolicy,omitempty"`
	// RefreshInterval is how often secrets are read. With 0, they are read once.
	// +kubebuilder:default="1h"
	RefreshInterval *metav1.Duration `json:"refreshInterval,omitempty"`
	// Data are single keys. They win over those of dataFrom.
	// +optional
	Data []ExternalSecretData `json:"data,omitempty"`
	// DataFrom are groups of keys. Later ones win over earlier ones.
	// +optional
	DataFrom []ExternalSecretDataFromRemoteRef `json:"dataFrom,omitempty"`
}

// ExternalSecretStatus is what Yuba did.
type ExternalSecretStatus struct {
	// RefreshTime is when the secrets were last read.
	// +nullable
	RefreshTime metav1.Time `json:"refreshTime,omitempty"`
	// SyncedResourceVersion identifies the spec, labels and annotations of that time.
	SyncedResourceVersion string `json:"syncedResourceVersion,omitempty"`
	// Conditions has the condition Ready.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// Binding names the target.
	Binding corev1.LocalObjectReference `json:"binding,omitempty"`
}

// Marks of the target.
const (
	// AnnotationDataHash identifies the data.
	AnnotationDataHash = "reconcile.external-secrets.io/data-hash"
	// AnnotationForceSync has no meaning of its own: any change of an annotation reads the secrets again.
	AnnotationForceSync = "external-secrets.io/force-sync"
	// LabelManaged is "true".
	LabelManaged = "reconcile.external-secrets.io/managed"
)

// ExternalSecret keeps a Secret equal to secrets of a store.
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={external-secrets},shortName=es
// +kubebuilder:printcolumn:name="StoreType",type=string,JSONPath=`.spec.secretStoreRef.kind`
// +kubebuilder:printcolumn:name="Store",type=string,JSONPath=`.spec.secretStoreRef.name`
// +kubebuilder:printcolumn:name="Refresh Interval",type=string,JSONPath=`.spec.refreshInterval`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:selectablefield:JSONPath=`.spec.secretStoreRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.secretStoreRef.kind`
// +kubebuilder:selectablefield:JSONPath=`.spec.target.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.refreshInterval`
type ExternalSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ExternalSecretSpec   `json:"spec,omitempty"`
	Status ExternalSecretStatus `json:"status,omitempty"`
}

// ExternalSecretList is a list of ExternalSecrets.
// +kubebuilder:object:root=true
type ExternalSecretList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExternalSecret `json:"items"`
}
