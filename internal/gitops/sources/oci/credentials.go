// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Credentials are those of Secrets of type kubernetes.io/dockerconfigjson. The zero value has none.
type Credentials struct{ entries []credential }

// credential is for the repositories below a path of a registry, which may contain wildcards.
type credential struct {
	registry, path string
	config         authn.AuthConfig
}

// AddDockerConfig adds docker's config.json, {"auths": {"registry": {…}}}, or only the value of
// auths, as in the older type kubernetes.io/dockercfg. Its errors do not quote the document.
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
	for _, registry := range slices.Sorted(maps.Keys(config.Auths)) {
		host, below := splitRegistry(registry)
		c.entries = append(c.entries, credential{host, below, config.Auths[registry]})
	}
	// The most specific one counts; among equals, the one of the first document.
	slices.SortStableFunc(c.entries, func(a, b credential) int { return len(b.path) - len(a.path) })
	return nil
}

// Add adds credentials for all repositories of a registry.
func (c *Credentials) Add(registry string, config authn.AuthConfig) {
	c.entries = append(c.entries, credential{registry: strings.ToLower(registry), config: config})
}

// splitRegistry splits docker's names of registries: a host, a path below it, or https://host/v1/.
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

// authenticator returns the credentials for a repository; anonymous if there are none.
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
	// As in Kubernetes, a wildcard matches within one part between dots.
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

// parts returns what distinguishes credentials.
func (c Credentials) parts() [][]byte {
	var parts [][]byte
	for _, e := range c.entries {
		for _, text := range []string{e.registry, e.path, e.config.Username, e.config.Password, e.config.IdentityToken, e.config.RegistryToken} {
			parts = append(parts, []byte(text))
		}
	}
	return parts
}
