// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SecretStoreSpec says where secrets are.
type SecretStoreSpec struct {
	// Controller selects the program that works on the store. Yuba works on those without one, and on "yuba".
	// +optional
	Controller string `json:"controller,omitempty"`
	// Provider is the server that has the secrets. Exactly one may be set.
	Provider *SecretStoreProvider `json:"provider"`
	// RetrySettings limit how a request that failed is repeated. Yuba tries again on its own schedule.
	// +optional
	RetrySettings *SecretStoreRetrySettings `json:"retrySettings,omitempty"`
	// RefreshInterval is how often the store is checked, in seconds. The default is 5 minutes.
	// +optional
	RefreshInterval int `json:"refreshInterval,omitempty"`
	// Conditions limit the namespaces whose ExternalSecrets may use a ClusterSecretStore. Without
	// conditions, all may.
	// +optional
	Conditions []ClusterSecretStoreCondition `json:"conditions,omitempty"`
}

// ClusterSecretStoreCondition selects namespaces. A namespace that one of the fields selects is allowed.
type ClusterSecretStoreCondition struct {
	// NamespaceSelector selects namespaces by labels.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Namespaces are the names of namespaces.
	// +optional
	// +kubebuilder:validation:items:MinLength:=1
	// +kubebuilder:validation:items:MaxLength:=63
	// +kubebuilder:validation:items:Pattern:=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceRegexes are regular expressions for names of namespaces.
	// +optional
	NamespaceRegexes []string `json:"namespaceRegexes,omitempty"`
}

// SecretStoreRetrySettings limit repetitions.
type SecretStoreRetrySettings struct {
	// MaxRetries is the number of repetitions.
	MaxRetries *int32 `json:"maxRetries,omitempty"`
	// RetryInterval is the pause between them, such as 10s.
	RetryInterval *string `json:"retryInterval,omitempty"`
}

// SecretStoreProvider is the server of a store. Fields of further providers are kept.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
// +kubebuilder:pruning:PreserveUnknownFields
type SecretStoreProvider struct {
	// Vault is the KV engine of HashiCorp's Vault or of OpenBao.
	// +optional
	Vault *VaultProvider `json:"vault,omitempty"`
	// AWS is Secrets Manager or the Parameter Store of Systems Manager.
	// +optional
	AWS *AWSProvider `json:"aws,omitempty"`
	// GCPSM is Google's Secret Manager.
	// +optional
	GCPSM *GCPSMProvider `json:"gcpsm,omitempty"`
	// AzureKV is Azure's Key Vault.
	// +optional
	AzureKV *AzureKVProvider `json:"azurekv,omitempty"`
}

// SecretStoreStatus is what Yuba found.
type SecretStoreStatus struct {
	// Conditions has the condition Ready.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
	// Capabilities is ReadOnly, as Yuba writes to no store.
	// +optional
	Capabilities string `json:"capabilities,omitempty"`
}

// ReadOnly is the capability of stores that Yuba works on.
const ReadOnly = "ReadOnly"

// SecretStore says where the ExternalSecrets of its namespace read secrets, and with which credentials of that namespace.
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Capabilities",type=string,JSONPath=`.status.capabilities`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories={external-secrets},shortName=ss
type SecretStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SecretStoreSpec   `json:"spec,omitempty"`
	Status SecretStoreStatus `json:"status,omitempty"`
}

// SecretStoreList is a list of SecretStores.
// +kubebuilder:object:root=true
type SecretStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SecretStore `json:"items"`
}

// ClusterSecretStore is a store for the ExternalSecrets of several namespaces. Administrators write it.
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Capabilities",type=string,JSONPath=`.status.capabilities`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={external-secrets},shortName=css
type ClusterSecretStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SecretStoreSpec   `json:"spec,omitempty"`
	Status SecretStoreStatus `json:"status,omitempty"`
}

// ClusterSecretStoreList is a list of ClusterSecretStores.
// +kubebuilder:object:root=true
type ClusterSecretStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterSecretStore `json:"items"`
}
