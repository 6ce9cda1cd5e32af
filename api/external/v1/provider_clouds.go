// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1

// The services of AWS.
const (
	AWSSecretsManager = "SecretsManager"
	AWSParameterStore = "ParameterStore"
)

// AWSProvider is a region of an account. Fields for writing are kept.
// +kubebuilder:pruning:PreserveUnknownFields
type AWSProvider struct {
	// Service is SecretsManager or ParameterStore.
	// +kubebuilder:validation:Enum=SecretsManager;ParameterStore
	Service string `json:"service"`
	// Auth has the keys.
	// +optional
	Auth AWSAuth `json:"auth,omitempty"`
	// Role is the ARN of a role to assume. Yuba does not assume roles yet.
	// +optional
	Role string `json:"role,omitempty"`
	// Region is that of the secrets.
	Region string `json:"region"`
	// AdditionalRoles are assumed before the role. Yuba does not assume roles yet.
	// +optional
	AdditionalRoles []string `json:"additionalRoles,omitempty"`
	// ExternalID is that of the assumed role.
	// +optional
	ExternalID string `json:"externalID,omitempty"`
	// Prefix precedes the keys of all secrets.
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

// AWSAuth are keys of AWS.
type AWSAuth struct {
	// SecretRef is where the keys are.
	// +optional
	SecretRef *AWSAuthSecretRef `json:"secretRef,omitempty"`
	// JWTAuth names a service account with a role. Yuba does not assume roles yet.
	// +optional
	JWTAuth *AWSJWTAuth `json:"jwt,omitempty"`
}

// AWSAuthSecretRef says where the parts of a key are.
type AWSAuthSecretRef struct {
	// AccessKeyID is where the ID of the key is.
	AccessKeyID SecretKeySelector `json:"accessKeyIDSecretRef,omitempty"`
	// SecretAccessKey is where the key is.
	SecretAccessKey SecretKeySelector `json:"secretAccessKeySecretRef,omitempty"`
	// SessionToken is where the token of temporary keys is.
	// +optional
	SessionToken *SecretKeySelector `json:"sessionTokenSecretRef,omitempty"`
}

// AWSJWTAuth is a service account with a role.
type AWSJWTAuth struct {
	// ServiceAccountRef names the service account.
	// +optional
	ServiceAccountRef *ServiceAccountSelector `json:"serviceAccountRef,omitempty"`
}

// GCPSMProvider is a project of Google's cloud.
type GCPSMProvider struct {
	// Auth has the key.
	// +optional
	Auth GCPSMAuth `json:"auth,omitempty"`
	// ProjectID is the project of the secrets.
	// +optional
	ProjectID string `json:"projectID,omitempty"`
	// Location is that of regional secrets; empty for global ones.
	// +optional
	Location string `json:"location,omitempty"`
	// SecretVersionSelectionPolicy says what is read if the latest version is disabled: LatestOrFail is an
	// error, and LatestOrFetch the newest enabled version.
	// +optional
	// +kubebuilder:default=LatestOrFail
	SecretVersionSelectionPolicy string `json:"secretVersionSelectionPolicy,omitempty"`
}

// LatestOrFetch reads the newest enabled version.
const LatestOrFetch = "LatestOrFetch"

// GCPSMAuth is a key of a service account of Google. Fields of further ways are kept.
// +kubebuilder:pruning:PreserveUnknownFields
type GCPSMAuth struct {
	// SecretRef is where the key is.
	// +optional
	SecretRef *GCPSMAuthSecretRef `json:"secretRef,omitempty"`
}

// GCPSMAuthSecretRef says where a key is.
type GCPSMAuthSecretRef struct {
	// SecretAccessKey is where the key's JSON file is.
	// +optional
	SecretAccessKey SecretKeySelector `json:"secretAccessKeySecretRef,omitempty"`
}

// AzureKVProvider is a key vault.
type AzureKVProvider struct {
	// AuthType is ServicePrincipal, ManagedIdentity or WorkloadIdentity. Yuba uses service principals.
	// +optional
	// +kubebuilder:validation:Enum=ServicePrincipal;ManagedIdentity;WorkloadIdentity
	// +kubebuilder:default=ServicePrincipal
	AuthType *string `json:"authType,omitempty"`
	// VaultURL is the address of the key vault, such as https://shop.vault.azure.net.
	VaultURL *string `json:"vaultUrl"`
	// TenantID is the tenant of the service principal.
	// +optional
	TenantID *string `json:"tenantId,omitempty"`
	// EnvironmentType is the cloud.
	// +kubebuilder:validation:Enum=PublicCloud;USGovernmentCloud;ChinaCloud;GermanCloud;AzureStackCloud
	// +kubebuilder:default=PublicCloud
	EnvironmentType string `json:"environmentType,omitempty"`
	// AuthSecretRef is where the credentials of the service principal are.
	// +optional
	AuthSecretRef *AzureKVAuth `json:"authSecretRef,omitempty"`
	// ServiceAccountRef names a service account for WorkloadIdentity.
	// +optional
	ServiceAccountRef *ServiceAccountSelector `json:"serviceAccountRef,omitempty"`
	// IdentityID selects a managed identity.
	// +optional
	IdentityID *string `json:"identityId,omitempty"`
	// UseAzureSDK selects a library of the External Secrets Operator. Yuba ignores it.
	// +optional
	// +kubebuilder:default=false
	UseAzureSDK *bool `json:"useAzureSDK,omitempty"`
	// CustomCloudConfig has the addresses of an AzureStackCloud.
	// +optional
	CustomCloudConfig *AzureCustomCloudConfig `json:"customCloudConfig,omitempty"`
}

// AzureKVAuth says where the credentials of a service principal are.
type AzureKVAuth struct {
	// ClientID is where the ID of the principal is.
	// +optional
	ClientID *SecretKeySelector `json:"clientId,omitempty"`
	// TenantID is where the tenant is, if tenantId does not say it.
	// +optional
	TenantID *SecretKeySelector `json:"tenantId,omitempty"`
	// ClientSecret is where the principal's secret is.
	// +optional
	ClientSecret *SecretKeySelector `json:"clientSecret,omitempty"`
	// ClientCertificate is where the principal's certificate is. Yuba uses client secrets.
	// +optional
	ClientCertificate *SecretKeySelector `json:"clientCertificate,omitempty"`
}

// AzureCustomCloudConfig has the addresses of an Azure Stack.
type AzureCustomCloudConfig struct {
	// ActiveDirectoryEndpoint is where principals log in.
	ActiveDirectoryEndpoint string `json:"activeDirectoryEndpoint"`
	// KeyVaultEndpoint is the service for which tokens are requested.
	// +optional
	KeyVaultEndpoint *string `json:"keyVaultEndpoint,omitempty"`
	// KeyVaultDNSSuffix is the end of the names of key vaults.
	// +optional
	KeyVaultDNSSuffix *string `json:"keyVaultDNSSuffix,omitempty"`
	// ResourceManagerEndpoint is the address of the resource manager.
	// +optional
	ResourceManagerEndpoint *string `json:"resourceManagerEndpoint,omitempty"`
}
