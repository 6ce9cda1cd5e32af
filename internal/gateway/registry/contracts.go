// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// The modules of contracts are contracts/NAME/publish and contracts/NAMESPACE_NAME/publish: a name of
// Kubernetes has no "_". Without a namespace it is that of the service account that asks.
const (
	contractsNamespace = "contracts"
	contractsSystem    = "publish"
)

// ContractName names a contract.
type ContractName struct{ Namespace, Name string }

// Contracts makes the modules through which stacks publish contracts. Versions and Archive return the same
// error for a contract that does not exist and for one that has no module, which wraps catalog.ErrNone.
type Contracts interface {
	// Grants reports whether stacks of a namespace may read a contract.
	Grants(ctx context.Context, c ContractName, namespace string) (bool, error)
	// Versions are the versions of a contract.
	Versions(ctx context.Context, c ContractName) ([]string, error)
	// Archive returns the module of a version as a gzipped tar archive.
	Archive(ctx context.Context, c ContractName, version string) (offer.File, error)
}

// isContract reports whether the registry makes a module itself.
func (s *Server) isContract(m layout.Module) bool {
	return s.opts.Contracts != nil && m.Namespace == contractsNamespace && m.System == contractsSystem
}

// contracts adds the routes of the modules of contracts, which precede those of all modules.
func (s *Server) contracts(get func(pattern, kind string, answer answer), c client) {
	const module = "/v1/modules/" + contractsNamespace + "/{name}/" + contractsSystem
	get(module+"/versions", "module-versions", s.contractVersions(c))
	get(module+"/{version}/download", "module-download", s.contractDownload(c))
	get(module+"/{version}/archive/{signature}/{file}", "module-archive", s.contractArchive(c.signer))
}

// contractOf returns the contract in a path, which who asks may read: stacks of its namespace, stacks of
// namespaces that it grants, and whoever may get the object from the API.
func (s *Server) contractOf(r *http.Request, by identify) (ContractName, error) {
	who, err := by(r)
	if err != nil {
		return ContractName{}, err
	}
	if who.anonymous() {
		return ContractName{}, problem(http.StatusUnauthorized, "the modules of contracts need a token: "+s.getToken())
	}
	own := namespaceOf(who)
	namespace, name, named := strings.Cut(r.PathValue("name"), "_")
	if !named {
		namespace, name = own, namespace
	}
	c := ContractName{namespace, name}
	if namespace == "" {
		return c, problem(http.StatusNotFound, fmt.Sprintf("contracts/%s/publish is the contract of the namespace whose stack or service account asks, and %s has none. Name the namespace: contracts/NAMESPACE_%s/publish",
			name, who.Name, name))
	}
	if own != "" {
		if granted, err := s.opts.Contracts.Grants(r.Context(), c, own); err != nil || granted {
			return c, err
		}
	}
	what := Action{Verb: "get", Group: "yuba.dev", Resource: "contracts", Namespace: namespace, Name: name}
	if allowed, _, err := s.opts.Access.May(r.Context(), who, what); err != nil || allowed {
		return c, err
	}
	s.opts.Log.Warn("refused", "who", who.Name, "verb", what.Verb, "resource", "contracts.yuba.dev", "namespace", namespace, "name", name, "from", r.RemoteAddr)
	return c, problem(http.StatusNotFound, fmt.Sprintf("the Contract %s/%s does not exist, or %s may not read it (spec.grants)", namespace, name, who.Name))
}

// namespaceOf is the namespace of a service account; empty for others.
func namespaceOf(who Identity) string {
	account, is := strings.CutPrefix(who.Name, "system:serviceaccount:")
	namespace, _, _ := strings.Cut(account, ":")
	if !is || who.OwnToken || !slices.Contains(who.Groups, "system:serviceaccounts:"+namespace) {
		return ""
	}
	return namespace
}

func (s *Server) contractVersions(c client) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		name, err := s.contractOf(r, c.by)
		if err != nil {
			return "", err
		}
		versions, err := s.opts.Contracts.Versions(r.Context(), name)
		if err != nil {
			return "", err
		}
		listed := make([]listedVersion, 0, len(versions))
		for _, v := range versions {
			listed = append(listed, listedVersion{Version: v})
		}
		return "", sendJSON(w, map[string]any{"modules": []any{map[string]any{"source": contractsNamespace + "/" + r.PathValue("name") + "/" + contractsSystem, "versions": listed}}})
	}
}

// contractDownload leads to an archive whose name has the namespace: it is opened by its signature only.
func (s *Server) contractDownload(c client) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		name, err := s.contractOf(r, c.by)
		if err != nil {
			return "", err
		}
		version := r.PathValue("version")
		versions, err := s.opts.Contracts.Versions(r.Context(), name)
		if err != nil {
			return "", err
		}
		if !slices.Contains(versions, version) {
			return "", problem(http.StatusNotFound, fmt.Sprintf("the Contract %s/%s has no version %s; it has %s", name.Namespace, name.Name, version, strings.Join(versions, ", ")))
		}
		location := "./archive/" + c.sign(contractKey(name, version), false) + "/" + contractFile(name, version)
		w.Header().Set("X-Terraform-Get", location)
		w.Header().Set("Cache-Control", "no-store")
		return "", sendJSON(w, map[string]any{"location": location, "use_registry_credentials": true})
	}
}

func contractKey(c ContractName, version string) string {
	return contractsNamespace + "/" + c.Namespace + "/" + c.Name + "/" + version
}

func contractFile(c ContractName, version string) string {
	return c.Namespace + "_" + c.Name + "-" + version + ".tar.gz"
}

func (s *Server) contractArchive(signed signer) answer {
	return func(w http.ResponseWriter, r *http.Request) (string, error) {
		version, file := r.PathValue("version"), r.PathValue("file")
		name := r.PathValue("name")
		if _, after, named := strings.Cut(name, "_"); named {
			name = after
		}
		namespace, _, _ := strings.Cut(file, "_")
		c := ContractName{namespace, name}
		if err := signed.opens(r, contractKey(c, version)); err != nil {
			return "", err
		}
		if file != contractFile(c, version) {
			return "", problem(http.StatusNotFound, fmt.Sprintf("the contract %s %s has no file %q", name, version, file))
		}
		archive, err := s.opts.Contracts.Archive(r.Context(), c, version)
		if err != nil {
			return "", err
		}
		return contractsNamespace + "/" + r.PathValue("name") + "/" + contractsSystem, s.sendFile(w, r, archive, "application/gzip")
	}
}
