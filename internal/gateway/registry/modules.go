// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// moduleOf parses the module in a path.
func moduleOf(r *http.Request) (layout.Module, error) {
	m, err := layout.ParseModule(r.PathValue("namespace") + "/" + r.PathValue("name") + "/" + r.PathValue("system"))
	if err != nil {
		err = problem(http.StatusNotFound, err.Error())
	}
	return m, err
}

func moduleVersionOf(r *http.Request) (layout.ModuleVersion, error) {
	m, err := moduleOf(r)
	if err != nil {
		return layout.ModuleVersion{}, err
	}
	if _, err := layout.ParseVersion(r.PathValue("version")); err != nil {
		return layout.ModuleVersion{}, problem(http.StatusNotFound, err.Error())
	}
	return layout.ModuleVersion{Module: m, Version: r.PathValue("version")}, nil
}

// listedVersion is a version in a list of modules.v1. Terraform shows a deprecation since 1.14.
type listedVersion struct {
	Version     string       `json:"version"`
	Deprecation *deprecation `json:"deprecation,omitempty"`
}

type deprecation struct {
	Reason string `json:"reason"`
	Link   string `json:"externalLink,omitempty"`
}

// hidden reports whether a release is revoked, and the client is not a run that may have it. What the
// header may ask for was checked before.
func (c client) hidden(r *http.Request, release catalog.Release) bool {
	if release.Notice == nil || release.Notice.Kind != catalog.Revoked {
		return false
	}
	switch run.Revoked(r.Header.Get(run.HeaderRevoked)) {
	case run.NoRevoked:
		return true
	case run.UsedRevoked:
		if c.run == nil || c.run.Has == nil {
			return true
		}
		had := c.run.Has(release.Module)
		// A module that the stack never had must not keep the rest from being destroyed.
		return !slices.Contains(had, release.Version) && (len(had) > 0 || !c.run.Destroys)
	}
	return false
}

func (s *Server) moduleVersions(c client) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		m, err := moduleOf(r)
		if err != nil {
			return "", err
		}
		if err := s.mayRead(r, c.by, ResourceModules, m.Namespace); err != nil {
			return "", err
		}
		releases, err := s.opts.Modules.Versions(r.Context(), m)
		if err != nil {
			return "", err
		}
		versions := make([]listedVersion, 0, len(releases))
		for _, release := range releases {
			if c.hidden(r, release) {
				continue
			}
			v := listedVersion{Version: release.Version}
			if n := release.Notice; n != nil {
				v.Deprecation = &deprecation{Reason: string(n.Kind) + ": " + n.Reason}
			}
			versions = append(versions, v)
		}
		return "", sendJSON(w, map[string]any{"modules": []any{map[string]any{"source": m.String(), "versions": versions}}})
	}
}

// moduleDownload says where the archive of a version is, in the ways of all versions of the tools.
// Terraform reads the header only, and tofu since 1.12 downloads it itself.
func (s *Server) moduleDownload(c client) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		v, err := moduleVersionOf(r)
		if err != nil {
			return "", err
		}
		who, err := s.reader(r, c.by, ResourceModules, v.Namespace)
		if err != nil {
			return "", err
		}
		release, err := s.opts.Modules.Release(r.Context(), v)
		if err != nil {
			return "", s.withVersions(r, v, err)
		}
		if c.hidden(r, release) {
			return "", problem(http.StatusGone, fmt.Sprintf("%s was revoked by %s: %s. Use another version", v, release.Notice.By, release.Notice.Reason))
		}
		location := "./archive/" + c.sign(v.Key(), who.anonymous()) + "/" + path.Base(v.Key())
		w.Header().Set("X-Terraform-Get", location)
		w.Header().Set("Cache-Control", "no-store")
		return "", sendJSON(w, map[string]any{"location": location, "use_registry_credentials": true})
	}
}

// withVersions adds to an error about an unknown version which ones there are.
func (s *Server) withVersions(r *http.Request, v layout.ModuleVersion, err error) error {
	if !errors.Is(err, catalog.ErrNone) {
		return err
	}
	releases, err := s.opts.Modules.Versions(r.Context(), v.Module)
	if err != nil {
		return err
	}
	const most = 10
	var names []string
	for _, release := range releases[:min(len(releases), most)] {
		names = append(names, release.Version)
	}
	return problem(http.StatusNotFound, fmt.Sprintf("the module %s has no version %s; the newest are %s", v.Module, v.Version, strings.Join(names, ", ")))
}

// moduleArchive sends the archive of a signed path.
func (s *Server) moduleArchive(signed signer) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		v, err := moduleVersionOf(r)
		if err != nil {
			return "", err
		}
		if err := signed.opens(r, v.Key()); err != nil {
			return "", err
		}
		if file := r.PathValue("file"); file != path.Base(v.Key()) {
			return "", problem(http.StatusNotFound, fmt.Sprintf("%s has no file %q", v, file))
		}
		content, release, err := s.opts.Modules.Archive(r.Context(), v)
		if err != nil {
			return "", err
		}
		defer content.Close() //nolint:errcheck // read only
		return v.Module.String(), s.sendFile(w, r, offer.File{Content: content, Size: release.Size, Digest: release.Digest, Modified: release.Published}, "application/gzip")
	}
}
