// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"encoding/json"
	"fmt"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// setIdentities describes the tokens that runs get, and the variables by which clouds' SDKs and
// providers find them.
func (c *Configuration) setIdentities(obj *infrav1.Terraform) error {
	c.serviceAccount = obj.RunnerServiceAccount()
	seen := map[string]bool{}
	for n, t := range obj.Spec.IdentityTokens {
		if t.Audience == run.RunnersAudience {
			return &Problem{Reason: infrav1.ReasonInitFailed, Message: fmt.Sprintf("spec.identityTokens[%d]: the audience %s is for Yuba's own runners", n, t.Audience)}
		}
		if seen[t.Audience] {
			return &Problem{Reason: infrav1.ReasonInitFailed, Message: fmt.Sprintf("spec.identityTokens[%d]: another token has the audience %s, too", n, t.Audience)}
		}
		seen[t.Audience] = true
		identity := run.Identity{Audience: t.Audience}
		if t.PathEnv != "" {
			identity.Env = append(identity.Env, run.EnvVar{Name: t.PathEnv, Value: run.IdentityPath})
		}
		switch {
		case t.AWS != nil:
			identity.Env = append(identity.Env, awsIdentity(obj, t.AWS)...)
		case t.Azure != nil:
			identity.Env = append(identity.Env, azureIdentity(t.Azure)...)
		case t.GCP != nil:
			config, err := gcpIdentity(t.Audience, t.GCP)
			if err != nil {
				return err
			}
			identity.Config = config
			identity.Env = append(identity.Env, run.EnvVar{Name: "GOOGLE_APPLICATION_CREDENTIALS", Value: run.IdentityConfig})
		}
		c.identities = append(c.identities, identity)
	}
	return nil
}

// awsIdentity: https://docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html
func awsIdentity(obj *infrav1.Terraform, i *infrav1.AWSIdentity) []run.EnvVar {
	const longest = 64
	session := i.SessionName
	if session == "" {
		session = obj.Namespace + "." + obj.Name
		session = session[:min(len(session), longest)]
	}
	return []run.EnvVar{{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: run.IdentityPath}, {Name: "AWS_ROLE_ARN", Value: i.RoleARN},
		{Name: "AWS_ROLE_SESSION_NAME", Value: session}}
}

// azureIdentity has the variables of the azurerm provider and of Azure's SDKs:
// https://registry.terraform.io/providers/hashicorp/azurerm/latest/docs/guides/service_principal_oidc
func azureIdentity(i *infrav1.AzureIdentity) []run.EnvVar {
	env := []run.EnvVar{{Name: "ARM_USE_OIDC", Value: "true"}, {Name: "ARM_OIDC_TOKEN_FILE_PATH", Value: run.IdentityPath},
		{Name: "ARM_CLIENT_ID", Value: i.ClientID}, {Name: "ARM_TENANT_ID", Value: i.TenantID},
		{Name: "AZURE_FEDERATED_TOKEN_FILE", Value: run.IdentityPath}, {Name: "AZURE_CLIENT_ID", Value: i.ClientID}, {Name: "AZURE_TENANT_ID", Value: i.TenantID}}
	if i.SubscriptionID != "" {
		env = append(env, run.EnvVar{Name: "ARM_SUBSCRIPTION_ID", Value: i.SubscriptionID})
	}
	return env
}

// gcpIdentity is a credential file of type external_account:
// https://google.aip.dev/auth/4117
func gcpIdentity(audience string, i *infrav1.GCPIdentity) (string, error) {
	if !strings.Contains(audience, "://") && !strings.HasPrefix(audience, "//") {
		audience = "//iam.googleapis.com/" + strings.TrimPrefix(audience, "/")
	}
	config := map[string]any{
		"type": "external_account", "audience": strings.TrimPrefix(audience, "https:"),
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token",
		"credential_source": map[string]string{"file": run.IdentityPath},
	}
	if i.ServiceAccount != "" {
		config["service_account_impersonation_url"] = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" + i.ServiceAccount + ":generateAccessToken"
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("describe an identity in Google Cloud: %w", err)
	}
	// The placeholder has characters that JSON escapes.
	escaped, err := json.Marshal(run.IdentityPath)
	if err != nil {
		return "", fmt.Errorf("describe an identity in Google Cloud: %w", err)
	}
	return strings.Replace(string(text), string(escaped), `"`+run.IdentityPath+`"`, 1), nil
}
