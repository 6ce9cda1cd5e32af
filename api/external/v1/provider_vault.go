// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

// VaultProvider is the KV engine of a Vault.
// +kubebuilder:pruning:PreserveUnknownFields
type VaultProvider struct {
	// Auth is how Yuba logs in.
	Auth *VaultAuth `json:"auth,omitempty"`
	// Server is the address of the Vault, such as https://vault.example.com:8200.
	Server string `json:"server"`
	// Path is the mount of the KV engine, such as secret. Without it, keys begin with the mount.
	// +optional
	Path *string `json:"path,omitempty"`
	// Version is that of the KV engine, v1 or v2.
	// +kubebuilder:validation:Optional
	// +kubebuilder:validation:Enum="v1";"v2"
	// +kubebuilder:default:="v2"
	Version string `json:"version"`
	// Namespace is that of a Vault Enterprise.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// CABundle has the certificates of authorities that sign the server's certificate, in PEM.
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
	// CAProvider is where those certificates are.
	// +optional
	CAProvider *CAProvider `json:"caProvider,omitempty"`
}

// VaultAuth is a method to log in. Exactly one may be set. Fields of further methods are kept.
// +kubebuilder:pruning:PreserveUnknownFields
type VaultAuth struct {
	// Namespace is that of the method, if it is another than the store's.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// TokenSecretRef is a token.
	// +optional
	TokenSecretRef *SecretKeySelector `json:"tokenSecretRef,omitempty"`
	// AppRole logs in with a role and its secret.
	// +optional
	AppRole *VaultAppRole `json:"appRole,omitempty"`
	// Kubernetes logs in with a service account's token in a Secret.
	// +optional
	Kubernetes *VaultKubernetesAuth `json:"kubernetes,omitempty"`
	// Jwt logs in with a token in a Secret.
	// +optional
	Jwt *VaultJwtAuth `json:"jwt,omitempty"`
	// UserPass logs in with a user's name and password.
	// +optional
	UserPass *VaultUserPassAuth `json:"userPass,omitempty"`
	// Ldap logs in with the name and password of a user of LDAP.
	// +optional
	Ldap *VaultUserPassAuth `json:"ldap,omitempty"`
}

// VaultAppRole is a role with its secret.
type VaultAppRole struct {
	// Path is the mount of the method.
	// +kubebuilder:default=approle
	Path string `json:"path"`
	// RoleID is the ID of the role.
	// +optional
	RoleID string `json:"roleId,omitempty"`
	// RoleRef is where the ID of the role is.
	// +optional
	RoleRef *SecretKeySelector `json:"roleRef,omitempty"`
	// SecretRef is where the role's secret is.
	SecretRef SecretKeySelector `json:"secretRef"`
}

// VaultKubernetesAuth is a service account of Kubernetes.
type VaultKubernetesAuth struct {
	// Path is the mount of the method.
	// +kubebuilder:default=kubernetes
	Path string `json:"mountPath"`
	// ServiceAccountRef names a service account. Yuba does not make tokens; use secretRef.
	// +optional
	ServiceAccountRef *ServiceAccountSelector `json:"serviceAccountRef,omitempty"`
	// SecretRef is where a token is. Its key is "token" by default.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
	// Role is the role in Vault.
	Role string `json:"role"`
}

// VaultJwtAuth is a signed token. Fields of further ways are kept.
// +kubebuilder:pruning:PreserveUnknownFields
type VaultJwtAuth struct {
	// Path is the mount of the method.
	// +kubebuilder:default=jwt
	Path string `json:"path"`
	// Role is the role in Vault.
	// +optional
	Role string `json:"role,omitempty"`
	// SecretRef is where a token is.
	// +optional
	SecretRef *SecretKeySelector `json:"secretRef,omitempty"`
}

// VaultUserPassAuth is a user with a password.
type VaultUserPassAuth struct {
	// Path is the mount of the method: by default userpass or ldap.
	// +optional
	Path string `json:"path,omitempty"`
	// Username is the user's name.
	Username string `json:"username"`
	// SecretRef is where the password is.
	// +optional
	SecretRef SecretKeySelector `json:"secretRef,omitempty"`
}
