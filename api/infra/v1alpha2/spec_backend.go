// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// BackendConfigSpec says where to keep the state.
type BackendConfigSpec struct {
	// Use the backend that the module itself configures. Defaults to false.
	// +optional
	Disable bool `json:"disable,omitempty"`

	// The suffix of the state Secret's name, tfstate-WORKSPACE-SUFFIX. Two stacks with the same
	// suffix and workspace share a state. Defaults to the object's name.
	// +optional
	SecretSuffix string `json:"secretSuffix,omitempty"`

	// Has no effect, because Yuba does not need it. Kept for compatibility.
	// +optional
	InClusterConfig bool `json:"inClusterConfig,omitempty"`

	// A custom backend: HCL for the terraform block, such as backend "s3" { bucket = "states" }.
	// The tool then uses and locks it directly.
	// +optional
	CustomConfiguration string `json:"customConfiguration,omitempty"`

	// Keep the state in another cluster, with OpenTofu's kubernetes backend: the path of the
	// kubeconfig file, which fileMappings can write. A path below /home/runner means the run's home
	// directory.
	// +optional
	ConfigPath string `json:"configPath,omitempty"`

	// Additional labels of the state Secret.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// BackendConfigsReference names a Secret or ConfigMap with backend configuration.
type BackendConfigsReference struct {
	// Secret or ConfigMap.
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	// +required
	Kind string `json:"kind"`

	// The name of the Secret or ConfigMap, in the object's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The keys to use, which are names of backend settings. Defaults to all keys.
	// +optional
	Keys []string `json:"keys,omitempty"`

	// Continue if it does not exist. Defaults to false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// CloudSpec is the cloud block of the terraform block.
type CloudSpec struct {
	// The organization that has the workspaces.
	// +required
	Organization string `json:"organization"`

	// The workspaces to use.
	// +required
	Workspaces *CloudWorkspacesSpec `json:"workspaces"`

	// The host of the service. Defaults to the tool's own default.
	// +optional
	Hostname string `json:"hostname,omitempty"`

	// The token to authenticate with. It is readable in the object. Prefer a Secret: in
	// cliConfigSecretRef, or as the environment variable TF_TOKEN_HOST (with "_" for each dot in
	// the host name).
	// +optional
	Token string `json:"token,omitempty"`
}

// CloudWorkspacesSpec names workspaces, by name or by tags.
type CloudWorkspacesSpec struct {
	// The name of one workspace.
	// +optional
	Name string `json:"name,omitempty"`

	// Tags that the workspaces have.
	// +optional
	Tags []string `json:"tags,omitempty"`
}

// TFStateSpec says how to handle a locked state.
type TFStateSpec struct {
	// Whether to break a lock. "no": never. "yes": the lock that lockIdentifier names. "auto": any
	// lock; use it only if nothing else writes this state, because breaking a lock too early can
	// damage the state. Yuba never breaks the lock of an active run.
	// +kubebuilder:validation:Enum=yes;no;auto
	// +kubebuilder:default:=no
	// +optional
	ForceUnlock ForceUnlock `json:"forceUnlock,omitempty"`

	// The id of the lock to break, as in status.lock.pending, such as
	// f2ab685b-f84d-ac0b-a125-378a22877e8d.
	// +optional
	LockIdentifier string `json:"lockIdentifier,omitempty"`

	// How long the tool waits for the lock of a custom backend, such as "30s". For a state that
	// Yuba keeps, the stack always waits until the lock is released.
	// +kubebuilder:default:="0s"
	// +optional
	LockTimeout string `json:"lockTimeout,omitempty"`
}

// ForceUnlock says whether to break a lock.
type ForceUnlock string

// The values of spec.tfstate.forceUnlock.
const (
	ForceUnlockNo   ForceUnlock = "no"
	ForceUnlockYes  ForceUnlock = "yes"
	ForceUnlockAuto ForceUnlock = "auto"
)
