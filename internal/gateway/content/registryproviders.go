// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// ProviderRelease is a version of one of the registry's own providers.
type ProviderRelease struct {
	Provider  string   `json:"provider"`
	Version   string   `json:"version"`
	Protocols []string `json:"protocols,omitempty"`
	// Packages are those of all platforms, by OS_ARCH.
	Packages map[string]release.Package `json:"packages"`
	// Signer is the fingerprint of the key that signed; empty if Unverified is not.
	Signer string `json:"signer,omitempty"`
	// Unverified is why the release is not offered in the mirror: none of the namespace's keys verifies its
	// signature.
	Unverified string    `json:"unverified,omitempty"`
	Published  time.Time `json:"published"`
	By         string    `json:"by,omitempty"`
}

// RegistryProvider is one provider in the response of /providers.
type RegistryProvider struct {
	Provider string `json:"provider"`
	// Versions counts the releases. Latest is the newest.
	Versions int             `json:"versions"`
	Latest   ProviderRelease `json:"latest"`
}

// RegistryProviderList is the response of /providers, and of /providers/NAMESPACE.
type RegistryProviderList struct {
	Items List[RegistryProvider] `json:"items"`
}

// ProviderReleaseList is the response of /providers/NAMESPACE?provider=…, newest first.
type ProviderReleaseList struct {
	Items List[ProviderRelease] `json:"items"`
}

// PublishedProvider is the response to a published provider.
type PublishedProvider struct {
	Release ProviderRelease `json:"release"`
	// Changed is false if it was published with these files already.
	Changed bool `json:"changed"`
}

// SigningKeyList is the response of /signingkeys/NAMESPACE.
type SigningKeyList struct {
	Items List[release.KeyInfo] `json:"items"`
}

// MirrorList is the response of /mirror.
type MirrorList struct {
	Items List[mirror.Entry] `json:"items"`
}

// CarriedList is the response to an import into the mirror.
type CarriedList struct {
	Items List[mirror.Carried] `json:"items"`
}

func providerPath(namespace string) string {
	path := PathPrefix + "/providers"
	if namespace != "" {
		path += "/" + url.PathEscape(namespace)
	}
	return path
}

func keysPath(namespace string) string {
	return PathPrefix + "/signingkeys/" + url.PathEscape(namespace)
}

// RegistryProviders lists the registry's own providers of a namespace; of all with an empty one.
func (c *Client) RegistryProviders(ctx context.Context, namespace string) (RegistryProviderList, error) {
	return ask[RegistryProviderList](ctx, c, http.MethodGet, providerPath(namespace), nil, nil)
}

// ProviderReleases lists the releases of one of the registry's own providers, newest first.
func (c *Client) ProviderReleases(ctx context.Context, p layout.Provider) (ProviderReleaseList, error) {
	return ask[ProviderReleaseList](ctx, c, http.MethodGet, providerPath(p.Namespace), url.Values{"provider": {p.Name}}, nil)
}

// ProviderRelease returns a release of one of the registry's own providers.
func (c *Client) ProviderRelease(ctx context.Context, v layout.ProviderVersion) (ProviderRelease, error) {
	return ask[ProviderRelease](ctx, c, http.MethodGet, providerPath(v.Namespace), url.Values{"provider": {v.Name}, "version": {v.Version}}, nil)
}

// PublishProvider publishes a tar archive with the files of a release. It may read it twice.
func (c *Client) PublishProvider(ctx context.Context, v layout.ProviderVersion, files io.ReadSeeker) (PublishedProvider, error) {
	return ask[PublishedProvider](ctx, c, http.MethodPut, providerPath(v.Namespace), url.Values{"provider": {v.Name}, "version": {v.Version}}, files)
}

// SigningKeys lists the signing keys of a namespace.
func (c *Client) SigningKeys(ctx context.Context, namespace string) (SigningKeyList, error) {
	return ask[SigningKeyList](ctx, c, http.MethodGet, keysPath(namespace), nil, nil)
}

// AddSigningKey adds an armoured public key to a namespace.
func (c *Client) AddSigningKey(ctx context.Context, namespace string, armor []byte) (release.KeyInfo, error) {
	return ask[release.KeyInfo](ctx, c, http.MethodPut, keysPath(namespace), nil, bytes.NewReader(armor))
}

// RemoveSigningKey removes a key by its id or fingerprint.
func (c *Client) RemoveSigningKey(ctx context.Context, namespace, id string) (release.KeyInfo, error) {
	return ask[release.KeyInfo](ctx, c, http.MethodDelete, keysPath(namespace), url.Values{"key": {id}}, nil)
}

// Mirror lists what the mirror of providers has.
func (c *Client) Mirror(ctx context.Context) (MirrorList, error) {
	return ask[MirrorList](ctx, c, http.MethodGet, PathPrefix+"/mirror", nil, nil)
}

// ImportMirror sends an archive that "yuba registry mirror" made. It may read it twice.
func (c *Client) ImportMirror(ctx context.Context, archive io.ReadSeeker, allowUnsigned, allowNewKeys bool) (CarriedList, error) {
	query := url.Values{}
	if allowUnsigned {
		query.Set("unsigned", "true")
	}
	if allowNewKeys {
		query.Set("newKeys", "true")
	}
	return ask[CarriedList](ctx, c, http.MethodPost, PathPrefix+"/mirror", query, archive)
}

// RemoveMirrored removes a release from the mirror; with an empty version all of the provider.
func (c *Client) RemoveMirrored(ctx context.Context, p layout.Provider, version string) (MirrorList, error) {
	query := url.Values{"provider": {p.Namespace + "/" + p.Name}}
	if version != "" {
		query.Set("version", version)
	}
	return ask[MirrorList](ctx, c, http.MethodDelete, PathPrefix+"/mirror/"+url.PathEscape(p.Host), query, nil)
}
