// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"net/http"
	"strings"
)

// ModuleSource is the source of a module, NAMESPACE/NAME/SYSTEM.
func (r *Registry) ModuleSource(module string) string { return r.Host() + "/" + module }

// PublishModule makes a release of a module, NAMESPACE/NAME/SYSTEM.
func (r *Registry) PublishModule(module, version string, files map[string][]byte) {
	r.t.Helper()
	r.ServeModule(module+"/"+version, files)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.modules == nil {
		r.modules = map[string][]string{}
	}
	r.modules[module] = append(r.modules[module], version)
}

// moduleVersions answers with the versions of a module.
func (r *Registry) moduleVersions(w http.ResponseWriter, module string) {
	r.mu.Lock()
	r.counts.ModuleVersions++
	versions := []map[string]string{}
	for _, v := range r.modules[module] {
		versions = append(versions, map[string]string{"version": v})
	}
	r.mu.Unlock()
	if len(versions) == 0 {
		http.Error(w, "no such module", http.StatusNotFound)
		return
	}
	answer(w, map[string]any{"modules": []any{map[string]any{"versions": versions}}})
}

// sendModule sends an archive. Clients send HEAD first.
func (r *Registry) sendModule(w http.ResponseWriter, req *http.Request, archive []byte) {
	if req.Method == http.MethodGet {
		r.mu.Lock()
		r.counts.Modules++
		r.mu.Unlock()
	}
	_, _ = w.Write(archive) // fails only if the client is gone
}

// serveModules serves the protocol of module registries; false for other requests.
func (r *Registry) serveModules(w http.ResponseWriter, parts []string) bool {
	if parts[0] != "v1" || len(parts) < 6 || parts[1] != "modules" {
		return false
	}
	module := strings.Join(parts[2:5], "/")
	switch {
	case len(parts) == 6 && parts[5] == "versions":
		r.moduleVersions(w, module)
	case len(parts) == 7 && parts[6] == "download":
		w.Header().Set("X-Terraform-Get", r.http.URL+"/modules/"+module+"/"+parts[5]+".zip")
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "no such page", http.StatusNotFound)
	}
	return true
}
