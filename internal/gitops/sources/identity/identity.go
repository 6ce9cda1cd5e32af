// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package identity gets credentials for sources from the cloud identity of the server:
// spec.provider aws, gcp or azure without a Secret. Authors of sources use the server's permissions
// then, so an administrator allows it for each provider.
//
// Invariants:
//
//   - Credentials are only for hosts of the provider. Nobody but the provider can read a token that
//     is sent to them: the caller refuses proxies, certificates and plain HTTP of a source.
//   - Credentials are shared until shortly before they expire.
package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/auth/aws"
	"github.com/fluxcd/pkg/auth/azure"
	"github.com/fluxcd/pkg/auth/gcp"
	"github.com/google/go-containerregistry/pkg/authn"
	"golang.org/x/oauth2"
)

// Providers are all providers, as Flux names them.
var Providers = []string{aws.ProviderName, gcp.ProviderName, azure.ProviderName}

// early is how long before their expiry credentials are replaced: a fetch must be able to end.
const early = 10 * time.Minute

// Identities get credentials. The zero value, and nil, allow nothing.
type Identities struct {
	allowed   []string
	providers map[string]auth.ArtifactRegistryCredentialsProvider
	now       func() time.Time

	mu    sync.Mutex
	known map[string]*registry
}

// registry are the credentials for a registry; mu makes requests for them one.
type registry struct {
	mu      sync.Mutex
	config  authn.AuthConfig
	expires time.Time
}

// New allows the named providers.
func New(allowed []string) (*Identities, error) {
	for _, name := range allowed {
		if !slices.Contains(Providers, name) {
			return nil, fmt.Errorf("%q is not a provider of cloud identities; use %s", name, strings.Join(Providers, ", "))
		}
	}
	return &Identities{allowed: allowed, now: time.Now, known: map[string]*registry{}, providers: map[string]auth.ArtifactRegistryCredentialsProvider{
		aws.ProviderName: aws.Provider{}, gcp.ProviderName: gcp.Provider{}, azure.ProviderName: azure.Provider{}}}, nil
}

// Allows reports whether sources may use the server's identity of a provider.
func (i *Identities) Allows(provider string) bool {
	return i != nil && slices.Contains(i.allowed, provider)
}

// IsOwnRegistry fails if the repository, host/path, is not in a registry of the provider.
func (i *Identities) IsOwnRegistry(provider, repository string) error {
	_, err := i.providers[provider].ParseArtifactRepository(repository)
	return err
}

// Registry returns the credentials for a repository, host/path, in a registry of the provider.
func (i *Identities) Registry(ctx context.Context, provider, repository string) (authn.AuthConfig, error) {
	host, _, _ := strings.Cut(repository, "/")
	i.mu.Lock()
	r := i.known[provider+" "+host]
	if r == nil {
		r = &registry{}
		i.known[provider+" "+host] = r
	}
	i.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if i.now().Add(early).Before(r.expires) {
		return r.config, nil
	}
	found, err := auth.GetArtifactRegistryCredentials(ctx, i.providers[provider], repository)
	if err != nil {
		return authn.AuthConfig{}, err
	}
	config, err := found.Authorization()
	if err != nil {
		return authn.AuthConfig{}, err
	}
	r.config, r.expires = *config, found.ExpiresAt
	return r.config, nil
}

// S3 returns the credentials for buckets in a region.
func S3(ctx context.Context, region string) awssdk.CredentialsProvider {
	return awssdk.NewCredentialsCache(aws.NewCredentialsProvider(ctx, auth.WithSTSRegion(region)))
}

// Google returns the tokens for buckets of Google's storage.
func Google(ctx context.Context) oauth2.TokenSource { return gcp.NewTokenSource(ctx) }

// Azure returns the tokens for containers of Azure.
func Azure(ctx context.Context) azcore.TokenCredential { return azure.NewTokenCredential(ctx) }
