// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
)

// cloud opens a secret in the store of a cloud; nil if the store is another one.
func (o *opener) cloud(s declare.Store) (keep.Place, error) {
	switch {
	case s.AWS != nil:
		if err := o.mayReachEndpoint("AWS", s.AWS.Endpoint, "AWS_ENDPOINT_URL_SECRETS_MANAGER"); err != nil {
			return nil, err
		}
		keys, err := awsKeys()
		if err != nil {
			return nil, err
		}
		return &keep.JSON{Store: &remote.AWSDocument{Secret: s.AWS.Name, KeyID: s.AWS.KeyID,
			SecretsManager: remote.SecretsManager{AWS: store.AWS{Region: s.AWS.Region, Endpoint: s.AWS.Endpoint, Keys: keys}}}}, nil
	case s.Google != nil:
		if err := o.mayReachEndpoint("Google", s.Google.Endpoint, "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"); err != nil {
			return nil, err
		}
		token, err := googleToken()
		if err != nil {
			return nil, err
		}
		return &keep.JSON{Store: &remote.GoogleDocument{Secret: s.Google.Name,
			Google: remote.Google{Project: s.Google.Project, Endpoint: s.Google.Endpoint, Token: token, Client: remote.Any()}}}, nil
	case s.Azure != nil:
		if !azureHost(s.Azure.Vault) {
			if err := o.mayReach(s.Azure.Vault, "AZURE_KEYVAULT_URL"); err != nil {
				return nil, fmt.Errorf("open Azure: %w", err)
			}
		}
		principal, err := azurePrincipal(s.Azure.Vault)
		if err != nil {
			return nil, err
		}
		return &keep.JSON{Store: &remote.AzureDocument{Secret: s.Azure.Name, Azure: remote.Azure{URL: s.Azure.Vault, Token: principal, Client: remote.Any()}}}, nil
	}
	return nil, nil
}

// mayReachEndpoint refuses an endpoint that only the file names, unless it is on this machine.
func (o *opener) mayReachEndpoint(cloud, endpoint, variable string) error {
	if endpoint == "" || declare.Loopback(endpoint) {
		return nil
	}
	if err := o.mayReach(endpoint, variable); err != nil {
		return fmt.Errorf("open %s: %w", cloud, err)
	}
	return nil
}

// googleToken is that of the caller's session, or of the key of a service account.
func googleToken() (remote.TokenSource, error) {
	for _, variable := range []string{"GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"} {
		if token := os.Getenv(variable); token != "" {
			return remote.StaticToken(token), nil
		}
	}
	file := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if file == "" {
		return nil, errors.New("open Google: there is no token. Log in, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account:\n    export GOOGLE_OAUTH_ACCESS_TOKEN=\"$(gcloud auth print-access-token)\"")
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("open Google: read the key of GOOGLE_APPLICATION_CREDENTIALS: %w", err)
	}
	key, err := remote.NewGoogleKey(content, remote.Any())
	if err != nil {
		return nil, fmt.Errorf("open Google: %s: %w", file, err)
	}
	return key, nil
}

// azureDomains are the domains of key vaults in Azure's clouds. Each is also the service that a token is for.
var azureDomains = []string{"vault.azure.net", "vault.azure.cn", "vault.usgovcloudapi.net"}

// azureDomain is the domain of a key vault; empty if it is not Azure's.
func azureDomain(vault string) string {
	u, err := url.Parse(vault)
	if err != nil || u.Scheme != "https" || u.Port() != "" {
		return ""
	}
	i := slices.IndexFunc(azureDomains, func(domain string) bool { return strings.HasSuffix(strings.ToLower(u.Hostname()), "."+domain) })
	if i < 0 {
		return ""
	}
	return azureDomains[i]
}

func azureHost(vault string) bool { return azureDomain(vault) != "" }

// azurePrincipal is the service principal of the variables that Azure's libraries read.
func azurePrincipal(vault string) (*remote.AzurePrincipal, error) {
	p := &remote.AzurePrincipal{Tenant: os.Getenv("AZURE_TENANT_ID"), ClientID: os.Getenv("AZURE_CLIENT_ID"), Secret: os.Getenv("AZURE_CLIENT_SECRET"),
		Authority: os.Getenv("AZURE_AUTHORITY_HOST"), Client: remote.Any()}
	if p.Tenant == "" || p.ClientID == "" || p.Secret == "" {
		return nil, errors.New("open Azure: set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, as with:\n    az ad sp create-for-rbac")
	}
	p.Resource = "https://" + cmp.Or(azureDomain(vault), azureDomains[0])
	return p, nil
}
