// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// RegistryInfo is the response of /registry: how to use the registry of modules and providers.
type RegistryInfo struct {
	// Host is what to write before NAMESPACE/NAME in sources; empty if the registry has no address
	// of its own.
	Host string `json:"host,omitempty"`
	// CA is the authority of its certificate, in PEM; empty for one that machines trust anyway.
	CA string `json:"ca,omitempty"`
	// Anonymous is true if reading needs no token.
	Anonymous bool `json:"anonymous,omitempty"`
}

// ModuleSummary is one module in the response of /modules.
type ModuleSummary struct {
	Module string `json:"module"`
	// Versions counts the releases. Latest is the newest, without its interface.
	Versions int             `json:"versions"`
	Latest   catalog.Release `json:"latest"`
}

// ModuleList is the response of /modules, and of /modules/NAMESPACE.
type ModuleList struct {
	Items List[ModuleSummary] `json:"items"`
}

// ReleaseList is the response of /modules/NAMESPACE?module=…, newest first.
type ReleaseList struct {
	Items List[catalog.Release] `json:"items"`
}

// PublishedModule is the response to a published module.
type PublishedModule struct {
	Release catalog.Release `json:"release"`
	Changes catalog.Changes `json:"changes"`
}

// Registry describes the registry.
func (c *Client) Registry(ctx context.Context) (RegistryInfo, error) {
	return ask[RegistryInfo](ctx, c, http.MethodGet, PathPrefix+"/registry", nil, nil)
}

// Modules lists the modules of a namespace of the registry; of all with an empty one.
func (c *Client) Modules(ctx context.Context, namespace string) (ModuleList, error) {
	path := PathPrefix + "/modules"
	if namespace != "" {
		path += "/" + url.PathEscape(namespace)
	}
	return ask[ModuleList](ctx, c, http.MethodGet, path, nil, nil)
}

// ModuleReleases lists the releases of a module, newest first, without their interfaces.
func (c *Client) ModuleReleases(ctx context.Context, m layout.Module) (ReleaseList, error) {
	return ask[ReleaseList](ctx, c, http.MethodGet, modulePath(m), url.Values{"module": {m.Name + "/" + m.System}}, nil)
}

// ModuleRelease returns a release with its interface.
func (c *Client) ModuleRelease(ctx context.Context, v layout.ModuleVersion) (catalog.Release, error) {
	return ask[catalog.Release](ctx, c, http.MethodGet, modulePath(v.Module), ofVersion(v), nil)
}

// PublishModule publishes an archive. It may read it twice. force accepts a patch release that breaks
// callers.
func (c *Client) PublishModule(ctx context.Context, v layout.ModuleVersion, archive io.ReadSeeker, force bool) (PublishedModule, error) {
	query := ofVersion(v)
	if force {
		query.Set("force", "true")
	}
	return ask[PublishedModule](ctx, c, http.MethodPut, modulePath(v.Module), query, archive)
}

// MarkModule sets the notice of a release; nil removes it.
func (c *Client) MarkModule(ctx context.Context, v layout.ModuleVersion, notice *catalog.Notice) (catalog.Release, error) {
	body, err := json.Marshal(notice)
	if err != nil {
		return catalog.Release{}, err
	}
	return ask[catalog.Release](ctx, c, http.MethodPatch, modulePath(v.Module), ofVersion(v), bytes.NewReader(body))
}

func modulePath(m layout.Module) string {
	return PathPrefix + "/modules/" + url.PathEscape(m.Namespace)
}

func ofVersion(v layout.ModuleVersion) url.Values {
	return url.Values{"module": {v.Name + "/" + v.System}, "version": {v.Version}}
}

// registryResources are the resources that [Handler.Registry] serves.
var registryResources = []string{"modules", "providers", "signingkeys", "mirror", "registry"}

// ServesRegistry reports whether a resource is one of the registry.
func ServesRegistry(resource string) bool { return slices.Contains(registryResources, resource) }
