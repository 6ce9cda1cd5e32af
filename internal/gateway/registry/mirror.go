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
func (s *Server) mirror(r *http.Request, by identify) (Providers, layout.Provider, error) {
	p, err := providerOf(r)
	if err != nil {
		return nil, p, err
	}
	from := mirrored{s.opts.Providers, s.opts.Mirror, s.opts.Host}
	resource, name := ResourceMirror, p.Host
	if p.Host == s.opts.Host {
		resource, name = ResourceProviders, p.Namespace
	}
	return from, p, s.mayRead(r, by, resource, name)
}

// mirrorIndex lists the versions of a provider: all of the origin's, because the tool concludes that
// others do not exist.
func (s *Server) mirrorIndex(by identify) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		from, p, err := s.mirror(r, by)
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
func (s *Server) mirrorVersion(by identify) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		from, p, err := s.mirror(r, by)
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
			archives[on.String()] = archived{URL: s.fileLink(v.Version+"/", v, one.File), Hashes: one.Hashes}
		}
		return "", sendJSON(w, map[string]any{"archives": archives})
	}
}
