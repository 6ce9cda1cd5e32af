// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Credentials are what Secrets of the type kubernetes.io/dockerconfigjson hold. The zero value is
// nobody.
type Credentials struct{ entries []credential }

// credential is for the repositories of a registry that lie below a path. The registry may have
// wildcards.
type credential struct {
	registry, path string
	config         authn.AuthConfig
}

// AddDockerConfig adds a document of docker: {"auths": {"registry": {…}}}, or what is in auths
// alone, as the older type kubernetes.io/dockercfg has it. Its errors say nothing of what is in it.
func (c *Credentials) AddDockerConfig(document []byte) error {
	var config struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(document, &config); err != nil {
		return errors.New("it does not have the format of docker's config.json")
	}
	if config.Auths == nil {
		if err := json.Unmarshal(document, &config.Auths); err != nil || len(config.Auths) == 0 {
			return errors.New(`it lacks "auths"`)
		}
	}
	names := make([]string, 0, len(config.Auths))
	for registry := range config.Auths {
		names = append(names, registry)
	}
	slices.Sort(names)
	for _, registry := range names {
		host, below := splitRegistry(registry)
		c.entries = append(c.entries, credential{host, below, config.Auths[registry]})
	}
	// The most specific counts, and of equal ones that of the first document.
	slices.SortStableFunc(c.entries, func(a, b credential) int { return len(b.path) - len(a.path) })
	return nil
}

// splitRegistry reads what docker's documents name registries by: a host, a path below it, or
// https://host/v1/.
func splitRegistry(text string) (host, below string) {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "https://"), "http://")
	host, below, _ = strings.Cut(text, "/")
	below = strings.Trim(below, "/")
	if below == "v1" || below == "v2" {
		below = ""
	}
	if host == "docker.io" || host == "registry-1.docker.io" {
		host = name.DefaultRegistry
	}
	return strings.ToLower(host), below
}

// authenticator is who asks about a repository: nobody, if there is no credential for it.
func (c Credentials) authenticator(repository name.Repository) authn.Authenticator {
	for _, entry := range c.entries {
		if entry.matches(repository) {
			return authn.FromConfig(entry.config)
		}
	}
	return authn.Anonymous
}

func (c credential) matches(repository name.Repository) bool {
	if below := repository.RepositoryStr() + "/"; c.path != "" && !strings.HasPrefix(below, c.path+"/") {
		return false
	}
	host := strings.ToLower(repository.RegistryStr())
	if c.registry == host {
		return true
	}
	// As in Kubernetes a wildcard stands for a part between dots, never for several.
	if strings.Count(c.registry, ".") != strings.Count(host, ".") {
		return false
	}
	patterns, parts := strings.Split(c.registry, "."), strings.Split(host, ".")
	for i, pattern := range patterns {
		if matched, err := path.Match(pattern, parts[i]); err != nil || !matched {
			return false
		}
	}
	return strings.Contains(c.registry, "*")
}

// parts are what tells credentials apart.
func (c Credentials) parts() [][]byte {
	var parts [][]byte
	for _, e := range c.entries {
		for _, text := range []string{e.registry, e.path, e.config.Username, e.config.Password, e.config.IdentityToken, e.config.RegistryToken} {
			parts = append(parts, []byte(text))
		}
	}
	return parts
}
