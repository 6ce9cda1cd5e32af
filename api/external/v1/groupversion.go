// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds.
	GroupVersion = schema.GroupVersion{Group: "external-secrets.io", Version: "v1"}

	// SchemeBuilder collects what [AddToScheme] adds.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes a scheme know the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

// The kinds.
const (
	ExternalSecretKind     = "ExternalSecret"
	SecretStoreKind        = "SecretStore"
	ClusterSecretStoreKind = "ClusterSecretStore"
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ExternalSecret{}, &ExternalSecretList{}, &SecretStore{}, &SecretStoreList{}, &ClusterSecretStore{}, &ClusterSecretStoreList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
