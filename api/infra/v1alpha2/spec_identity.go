// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// IdentityToken is a short-lived token of the stack's service account for one audience. Each run
// gets it as a file, which is renewed while the run lasts, and the variables by which the SDKs and
// providers of a cloud find it.
//
// +kubebuilder:validation:XValidation:rule="(has(self.aws) ? 1 : 0) + (has(self.gcp) ? 1 : 0) + (has(self.azure) ? 1 : 0) <= 1",message="a token is for one cloud: aws, gcp or azure"
// +kubebuilder:validation:XValidation:rule="has(self.aws) || has(self.gcp) || has(self.azure) || has(self.pathEnv)",message="name the cloud with aws, gcp or azure, or a variable for the file's path with pathEnv"
// +kubebuilder:validation:XValidation:rule="self.audience != 'yuba-runner'",message="the audience yuba-runner is for Yuba's own runners"
type IdentityToken struct {
	// The audience of the token, as its recipient expects it: "sts.amazonaws.com" for AWS,
	// "api://AzureADTokenExchange" for Azure, "https://iam.googleapis.com/" and the resource name of
	// the workload identity provider for Google Cloud.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Audience string `json:"audience"`

	// The name of an environment variable that gets the path of the file, for any other recipient,
	// such as Vault.
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=256
	// +optional
	PathEnv string `json:"pathEnv,omitempty"`

	// Assume a role of AWS.
	// +optional
	AWS *AWSIdentity `json:"aws,omitempty"`

	// Act in Google Cloud.
	// +optional
	GCP *GCPIdentity `json:"gcp,omitempty"`

	// Act in Azure.
	// +optional
	Azure *AzureIdentity `json:"azure,omitempty"`
}

// AWSIdentity sets AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and AWS_ROLE_SESSION_NAME.
type AWSIdentity struct {
	// The role to assume.
	// +kubebuilder:validation:Pattern=`^arn:[a-z-]+:iam::[0-9]{12}:role/.+$`
	RoleARN string `json:"roleARN"`

	// The name of the session in AWS's logs. Defaults to the stack's namespace and name.
	// +kubebuilder:validation:Pattern=`^[\w+=,.@-]{2,64}$`
	// +optional
	SessionName string `json:"sessionName,omitempty"`
}

// GCPIdentity sets GOOGLE_APPLICATION_CREDENTIALS to a file of type external_account.
type GCPIdentity struct {
	// The service account of Google Cloud to act as. Defaults to the federated identity itself.
	// +kubebuilder:validation:Pattern=`^[^@\s/]+@[^@\s/]+$`
	// +optional
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// AzureIdentity sets ARM_USE_OIDC, ARM_OIDC_TOKEN_FILE_PATH, ARM_CLIENT_ID, ARM_TENANT_ID and
// ARM_SUBSCRIPTION_ID for the azurerm provider, and their AZURE_ counterparts for SDKs.
type AzureIdentity struct {
	// The application or managed identity that trusts the token.
	// +kubebuilder:validation:MinLength=1
	ClientID string `json:"clientID"`

	// The tenant of that identity.
	// +kubebuilder:validation:MinLength=1
	TenantID string `json:"tenantID"`

	// The subscription to work on, unless the program names one.
	// +optional
	SubscriptionID string `json:"subscriptionID,omitempty"`
}
