// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// source is where providers come from, and the resource that access to them is about.
type source struct {
	resource string
	from     Providers
}

// scopeOf is the name that access to a provider is about: its namespace, or its origin's host.
func scopeOf(p layout.Provider) string {
	if p.Host != "" {
		return p.Host
	}
	return p.Namespace
}

// providerOf parses the provider in a path.
func providerOf(r *http.Request) (layout.Provider, error) {
	name := r.PathValue("namespace") + "/" + r.PathValue("name")
	if host := r.PathValue("host"); host != "" {
		name = host + "/" + name
	}
	p, err := layout.ParseProvider(name)
	if err != nil {
		err = problem(http.StatusNotFound, err.Error())
	}
	return p, err
}

func providerVersionOf(r *http.Request, version string) (layout.ProviderVersion, error) {
	p, err := providerOf(r)
	if err != nil {
		return layout.ProviderVersion{}, err
	}
	if _, err := layout.ParseVersion(version); err != nil {
		return layout.ProviderVersion{}, problem(http.StatusNotFound, err.Error())
	}
	return layout.ProviderVersion{Provider: p, Version: version}, nil
}

// allowed authorises a request for a provider.
func (s *Server) allowed(r *http.Request, by identify, from source, p layout.Provider) (Identity, error) {
	who, err := s.reader(r, by, from.resource, scopeOf(p))
	if err == nil && from.from == nil {
		err = problem(http.StatusNotFound, fmt.Sprintf("this registry does not have the provider %s", p))
	}
	return who, err
}

// platform is a platform in a list of providers.v1.
type platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// listedProvider is a version in a list of providers.v1.
type listedProvider struct {
	Version   string     `json:"version"`
	Protocols []string   `json:"protocols"`
	Platforms []platform `json:"platforms"`
}

// assumedProtocols are those of a version whose own are unknown: tofu takes versions without any for
// incompatible.
var assumedProtocols = []string{"5.0"}

func protocols(known []string) []string {
	if len(known) == 0 {
		return assumedProtocols
	}
	return known
}

func (s *Server) providerVersions(from source, by identify) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		p, err := providerOf(r)
		if err != nil {
			return "", err
		}
		if _, err := s.allowed(r, by, from, p); err != nil {
			return "", err
		}
		versions, err := from.from.Versions(r.Context(), p)
		if err != nil {
			return "", err
		}
		list, warnings := make([]listedProvider, 0, len(versions)), []string(nil)
		for _, v := range versions {
			listed := listedProvider{Version: v.Version, Protocols: protocols(v.Protocols), Platforms: []platform{}}
			for _, one := range v.Platforms {
				listed.Platforms = append(listed.Platforms, platform(one))
			}
			list = append(list, listed)
			if v.Warning != "" {
				warnings = append(warnings, v.Version+": "+v.Warning)
			}
		}
		return "", sendJSON(w, map[string]any{"id": p.Namespace + "/" + p.Name, "versions": list, "warnings": warnings})
	}
}

// hashesOf is a package in the answers that list all platforms.
type hashesOf struct {
	Hashes []string `json:"hashes"`
	Size   int64    `json:"package_size,omitempty"`
}

// download is the answer of providers.v1 for one package. All URLs are relative to it.
type download struct {
	Protocols    []string            `json:"protocols"`
	OS           string              `json:"os"`
	Arch         string              `json:"arch"`
	File         string              `json:"filename"`
	URL          string              `json:"download_url"`
	Sums         string              `json:"shasums_url"`
	Signature    string              `json:"shasums_signature_url"`
	SHA256       string              `json:"shasum"`
	Keys         map[string][]any    `json:"signing_keys"`
	AllPlatforms map[string]hashesOf `json:"packages"`
}

func (s *Server) providerDownload(from source, c client) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		v, err := providerVersionOf(r, r.PathValue("version"))
		if err != nil {
			return "", err
		}
		who, err := s.allowed(r, c.by, from, v.Provider)
		if err != nil {
			return "", err
		}
		link := func(file string) string { return c.fileLink("../../", v, file, who) }
		release, err := from.from.Release(r.Context(), v)
		if err != nil {
			return "", err
		}
		on := layout.Platform{OS: r.PathValue("os"), Arch: r.PathValue("arch")}
		p, ok := release.Packages[on]
		if !ok {
			return "", problem(http.StatusNotFound, fmt.Sprintf("the provider %s has no package for %s", v, on))
		}
		d := download{Protocols: protocols(release.Protocols), OS: on.OS, Arch: on.Arch, File: p.File, URL: link(p.File),
			Sums: link(v.Sums()), Signature: link(v.Signature()), SHA256: p.SHA256,
			Keys: map[string][]any{"gpg_public_keys": {}}, AllPlatforms: map[string]hashesOf{}}
		for _, key := range release.Keys {
			d.Keys["gpg_public_keys"] = append(d.Keys["gpg_public_keys"], key)
		}
		for other, one := range release.Packages {
			// OpenTofu 1.12 refuses the answer if the requested package has no size, and accepts one
			// without packages. The mirror knows sizes only of what it downloaded or the origin reports.
			if p.Size > 0 && one.Size > 0 {
				d.AllPlatforms[other.String()] = hashesOf{one.Hashes, one.Size}
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		return "", sendJSON(w, d)
	}
}

// fileLink is the signed link to a file of a version, from where prefix leads to the version's.
func (s signer) fileLink(prefix string, v layout.ProviderVersion, file string, who Identity) string {
	return prefix + "files/" + s.sign(v.Key(file), who.anonymous()) + "/" + file
}

// signedFile sends the file of a signed path.
func (s *Server) signedFile(from source, signed signer) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		v, err := providerVersionOf(r, r.PathValue("version"))
		if err != nil {
			return "", err
		}
		if err := signed.opens(r, v.Key(r.PathValue("file"))); err != nil {
			return "", err
		}
		return s.sendPackage(w, r, from.from, v, r.PathValue("file"))
	}
}

func (s *Server) sendPackage(w http.ResponseWriter, r *http.Request, from Providers, v layout.ProviderVersion, file string) (string, error) {
	f, err := from.Open(r.Context(), v, file)
	if err != nil {
		return "", err
	}
	defer f.Content.Close() //nolint:errcheck // read only
	kind, subject := "application/octet-stream", ""
	switch file {
	case v.Sums():
		kind = "text/plain; charset=utf-8"
	case v.Signature():
	default:
		kind, subject = "application/zip", v.Provider.String()
	}
	return subject, s.sendFile(w, r, f, kind)
}
