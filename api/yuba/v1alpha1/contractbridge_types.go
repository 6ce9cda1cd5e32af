// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContractBridgeKind is the name of the kind.
const ContractBridgeKind = "ContractBridge"

// ContractBridgeFinalizer is on bridges that remove their document when they are deleted.
const ContractBridgeFinalizer = "yuba.dev/contract-bridge"

// ContractBridge keeps a JSON document in a store and the revisions of a contract equal. Out: Yuba
// writes each revision that a stack publishes to the store, for readers that know nothing of contracts;
// or outputs of a stack, without a contract.
// In: somebody else writes the document, and Yuba publishes it as revisions, so that stacks consume it
// like any contract; the bridge stands for the stack that is not here.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Contract",type="string",JSONPath=".spec.contract",description="The contract."
// +kubebuilder:printcolumn:name="Direction",type="string",JSONPath=".spec.direction",description="Out to the store, or In from it."
// +kubebuilder:printcolumn:name="Document",type="string",JSONPath=".status.document",description="Where the document is."
// +kubebuilder:printcolumn:name="Revision",type="integer",JSONPath=".status.revision",description="The revision that equals the document."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created."
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether document and revision are equal."
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="The message of the condition Ready."
type ContractBridge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The contract, the direction and the store.
	Spec ContractBridgeSpec `json:"spec"`

	// The observed state. The server writes it.
	// +optional
	Status ContractBridgeStatus `json:"status,omitempty,omitzero"`
}

// BridgeDirection says who writes the document.
type BridgeDirection string

const (
	// BridgeOut writes revisions to the store.
	BridgeOut BridgeDirection = "Out"
	// BridgeIn publishes documents of the store.
	BridgeIn BridgeDirection = "In"
)

// ContractBridgeSpec is the desired state of a bridge.
//
// +kubebuilder:validation:XValidation:rule="self.direction == 'In' || has(self.from)",message="a bridge out needs from: the stack that publishes the contract"
// +kubebuilder:validation:XValidation:rule="has(self.contract) != has(self.outputs)",message="a bridge has either contract or outputs"
// +kubebuilder:validation:XValidation:rule="!has(self.outputs) || (self.direction == 'Out' && !has(self.version) && !has(self.reads))",message="a bridge with outputs has direction Out, and neither version nor reads"
// +kubebuilder:validation:XValidation:rule="self.direction == 'Out' || (has(self.version) && !has(self.from) && !has(self.reads))",message="a bridge in needs the version that the document has, and neither from nor reads"
type ContractBridgeSpec struct {
	// The Contract: Out, in the namespace of the stack; In, in the namespace of the bridge.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Contract string `json:"contract,omitempty"`

	// Out: instead of a contract, the outputs of the stack to write; "*" for all. The document is an
	// object with them. If the stack is in another namespace, its spec.outputGrants must name the
	// namespace of the bridge.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Outputs []string `json:"outputs,omitempty"`

	// Out: the versions to write, as OpenTofu's constraints; the highest published one is written.
	// Defaults to all. In: the version of the Contract that the document has, such as 1.2.0.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Version string `json:"version,omitempty"`

	// Out: Yuba writes the document. In: somebody else writes it, and Yuba publishes it.
	// +kubebuilder:validation:Enum=Out;In
	Direction BridgeDirection `json:"direction"`

	// Out: the stack that publishes the contract. If it is in another namespace, its Contract must
	// grant the namespace of the bridge in spec.grants.
	// +optional
	From *BridgeProducer `json:"from,omitempty"`

	// Out: the parts to write, such as vpc_id or subnets[*].id. Defaults to everything.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	// +listType=set
	// +optional
	Reads []string `json:"reads,omitempty"`

	// Where the document is.
	Store BridgeStore `json:"store"`

	// How often the document is read. Revisions are written at once.
	// +kubebuilder:default:="5m"
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`

	// Out: the digest of a document that may be replaced although the bridge did not write it. The
	// message of a conflict names the digest. Any other document stays.
	// +kubebuilder:validation:Pattern=`^(sha256|hmac-sha256):[0-9a-f]{64}$`
	// +optional
	Replace string `json:"replace,omitempty"`

	// Out: remove the document when the bridge is deleted, if it is still the one that the bridge wrote.
	// +optional
	Prune bool `json:"prune,omitempty"`

	// Stop reading and writing.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// BridgeProducer names a stack that publishes contracts.
type BridgeProducer struct {
	// The name of the stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// The namespace of the stack, if it is another one.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// BridgeStore is where a document is: one of the stores.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kubeConfig) || has(self.configMap) || has(self.secret)",message="only configMap and secret are in a cluster of kubeConfig"
// +kubebuilder:validation:XValidation:rule="has(self.kubeConfig) || !((has(self.configMap) && has(self.configMap.__namespace__)) || (has(self.secret) && has(self.secret.__namespace__)))",message="a namespace can be chosen in a cluster of kubeConfig only; here, create the bridge in that namespace"
// +kubebuilder:validation:XValidation:rule="[has(self.ssm), has(self.s3), has(self.vault), has(self.configMap), has(self.secret)].filter(x, x).size() == 1",message="a bridge has exactly one store"
type BridgeStore struct {
	// A parameter of AWS Systems Manager.
	// +optional
	SSM *SSMStore `json:"ssm,omitempty"`
	// An object in S3, or in a store that speaks its protocol.
	// +optional
	S3 *S3Store `json:"s3,omitempty"`
	// A secret in Vault's KV engine, version 2.
	// +optional
	Vault *VaultStore `json:"vault,omitempty"`
	// A ConfigMap in the namespace of the bridge, or in another cluster. Private parts and sensitive
	// outputs are refused.
	// +optional
	ConfigMap *ObjectStore `json:"configMap,omitempty"`
	// A Secret in the namespace of the bridge, or in another cluster.
	// +optional
	Secret *ObjectStore `json:"secret,omitempty"`

	// The Secret with the credentials of ssm, s3 and vault, in the namespace of the bridge. ssm and s3
	// read AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN from it, vault VAULT_TOKEN.
	// +optional
	CredentialsSecret *BridgeSecretReference `json:"credentialsSecret,omitempty"`

	// The cluster of configMap or secret, in the same form as in Flux's kinds: a Secret with a
	// kubeconfig, in the namespace of the bridge. Defaults to this cluster.
	// +optional
	KubeConfig *meta.KubeConfigReference `json:"kubeConfig,omitempty"`
}

// BridgeSecretReference names a Secret.
type BridgeSecretReference struct {
	// The name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SSMStore is a parameter.
type SSMStore struct {
	// The name of the parameter: /configuration/base.
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9_.-]+)+$`
	// +kubebuilder:validation:MaxLength=1011
	Name string `json:"name"`
	// The region, such as eu-central-1.
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]{1,32}$`
	Region string `json:"region"`
	// The type of the parameter: SecureString (encrypted) or String.
	// +kubebuilder:validation:Enum=SecureString;String
	// +kubebuilder:default:=SecureString
	// +optional
	Type string `json:"type,omitempty"`
	// The KMS key of a SecureString. Defaults to the account's key for SSM.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	KeyID string `json:"keyID,omitempty"`
	// The URL of another server than AWS's.
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// S3Store is an object in a bucket.
type S3Store struct {
	// The bucket.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=255
	Bucket string `json:"bucket"`
	// The key of the object: configuration/base.json.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key"`
	// The region, such as eu-central-1.
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]{1,32}$`
	Region string `json:"region"`
	// The URL of another server than AWS's.
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
}

// VaultStore is a secret in Vault's KV engine, version 2.
type VaultStore struct {
	// The URL of Vault.
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	Address string `json:"address"`
	// Where the engine is mounted.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:default:=secret
	// +optional
	Mount string `json:"mount,omitempty"`
	// The path of the secret below the mount: configuration/base. The document's attributes are the
	// keys of the secret.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// The namespace of Vault Enterprise.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ObjectStore is a ConfigMap or Secret.
type ObjectStore struct {
	// The name of the object. If it exists and the bridge did not create it, it is a conflict.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// The namespace in the cluster of kubeConfig. Defaults to the name of the bridge's namespace.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// The key of the document.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:default:=document.json
	// +optional
	Key string `json:"key,omitempty"`
	// Out: also write each attribute of the document under its own name, strings as they are and
	// everything else as JSON; for envFrom.
	// +optional
	Attributes bool `json:"attributes,omitempty"`
	// Out: mark the object for Reloader (reloader.stakater.com/match), which restarts workloads that
	// search for it when it changes.
	// +optional
	Reload bool `json:"reload,omitempty"`
}

// ContractBridgeStatus is the observed state of a bridge. It never contains values.
type ContractBridgeStatus struct {
	// The generation of the object that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Where the document is: ssm /configuration/base in eu-central-1.
	// +optional
	Document string `json:"document,omitempty"`

	// The digest of the document when it was equal to the revision last: sha256:HEX, or
	// hmac-sha256:HEX with a key of the server if the contract has private parts.
	// +optional
	Synced string `json:"synced,omitempty"`

	// When they were found equal first.
	// +optional
	SyncedAt *metav1.Time `json:"syncedAt,omitempty"`

	// The version and the number of the revision that equals the document.
	// +optional
	Version string `json:"version,omitempty"`
	// The number of the revision.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// The digest of the revision that equals the document.
	// +optional
	Digest string `json:"digest,omitempty"`

	// The reconcile request that was handled last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// The conditions of the bridge: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The conditions of a bridge:
//
//	Ready  the document and the revision are equal
//
// Reasons of conditions of bridges.
const (
	// ReasonBridgeSynced: document and revision are equal.
	ReasonBridgeSynced = "Synced"
	// ReasonBridgeWaiting: there is no revision, or no document, yet.
	ReasonBridgeWaiting = "Waiting"
	// ReasonBridgeConflict: somebody else wrote the document. Nothing is overwritten.
	ReasonBridgeConflict = "Conflict"
	// ReasonBridgeMisfit: the document is not a value of the contract, or cannot be in the store.
	// Consumers keep the last revision.
	ReasonBridgeMisfit = "Misfit"
	// ReasonBridgeGone: the document that was published is gone. Consumers keep the last revision.
	ReasonBridgeGone = "Gone"
	// ReasonBridgeUnreachable: the store does not answer, or refuses.
	ReasonBridgeUnreachable = "StoreFailed"
	// ReasonBridgeInvalid: the spec cannot be used.
	ReasonBridgeInvalid = "InvalidSpec"
	// ReasonBridgeSuspended: spec.suspend is set.
	ReasonBridgeSuspended = "Suspended"
)

// Reasons of events of bridges, besides those of conditions.
const (
	// ReasonBridgeReplaced: a document of somebody else was overwritten, as spec.replace allows.
	ReasonBridgeReplaced = "Replaced"
	// ReasonBridgeRecovered: document and revision are equal again, after a failure.
	ReasonBridgeRecovered = "Recovered"
)

// GetConditions returns the conditions.
func (b *ContractBridge) GetConditions() []metav1.Condition { return b.Status.Conditions }

// SetConditions replaces the conditions.
func (b *ContractBridge) SetConditions(conditions []metav1.Condition) {
	b.Status.Conditions = conditions
}

// ContractBridgeList is a list of bridges.
//
// +kubebuilder:object:root=true
type ContractBridgeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContractBridge `json:"items"`
}
