// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// mirror is what the network mirror serves a provider from. Access to the registry's own providers is
// by their namespace, by whatever protocol.
func (s *Server) mirror(r *http.Request, by identify) (_ Providers, p layout.Provider, who Identity, err error) {
	if p, err = providerOf(r); err != nil {
		return nil, p, who, err
	}
	from := mirrored{s.opts.Providers, s.opts.Mirror, s.opts.Host}
	resource, name := ResourceMirror, p.Host
	if p.Host == s.opts.Host {
		resource, name = ResourceProviders, p.Namespace
	}
	who, err = s.reader(r, by, resource, name)
	return from, p, who, err
}

// mirrorIndex lists the versions of a provider: all of the origin's, because the tool concludes that
// others do not exist.
func (s *Server) mirrorIndex(by identify) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		from, p, _, err := s.mirror(r, by)
		if err != nil {
			return "", err
		}
		versions, err := from.Versions(r.Context(), p)
		if err != nil {
			return "", err
		}
		list := map[string]struct{}{}
		for _, v := range versions {
			list[v.Version] = struct{}{}
		}
		return "", sendJSON(w, map[string]any{"versions": list})
	}
}

// archived is a package in the network mirror's description of a version.
type archived struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes"`
}

// mirrorVersion describes a version (VERSION.json), or sends the archive that is asked for with a
// token, as boring-registry's address has it.
func (s *Server) mirrorVersion(c client) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		from, p, who, err := s.mirror(r, c.by)
		if err != nil {
			return "", err
		}
		file := r.PathValue("file")
		if f, ok := layout.ProviderOfKey(layout.ProviderVersion{Provider: p}.Key(file)); ok {
			return s.sendPackage(w, r, from, f.ProviderVersion, file)
		}
		version, ok := strings.CutSuffix(file, ".json")
		if !ok {
			return "", problem(http.StatusNotFound, fmt.Sprintf("the mirror has no file %q of %s", file, p))
		}
		v, err := providerVersionOf(r, version)
		if err != nil {
			return "", err
		}
		release, err := from.Release(r.Context(), v)
		if err != nil {
			return "", err
		}
		archives := map[string]archived{}
		for on, one := range release.Packages {
			archives[on.String()] = archived{URL: c.fileLink(v.Version+"/", v, one.File, who), Hashes: one.Hashes}
		}
		w.Header().Set("Cache-Control", "no-store")
		return "", sendJSON(w, map[string]any{"archives": archives})
	}
}
