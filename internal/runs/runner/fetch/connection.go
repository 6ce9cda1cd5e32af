// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/registryproxy"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Registry is the server's registry, as downloads use it.
type Registry struct {
	// Host is the registry's host in sources; empty if it has none.
	Host string
	// Mirror says which providers of other hosts come from the server; nil for none.
	Mirror *run.Mirror
	Open   registryproxy.Open
}

// Patience is the environment variable that lets the tool wait for a registry whose server restarts.
const Patience = "TF_REGISTRY_CLIENT_TIMEOUT=180"

// Services are the paths of the registry that answer for a host, by protocol.
type Services map[string]string

// The protocols of registries, as services of a host.
const (
	modulesProtocol   = "modules.v1"
	providersProtocol = "providers.v1"
)

// OwnServices are the protocols of the registry's host.
func (r *Registry) OwnServices() Services {
	return Services{modulesProtocol: registryproxy.Modules, providersProtocol: registryproxy.Providers}
}

// forModules returns the host and services for the download of modules.
func (r *Registry) forModules() (string, Services) {
	if r == nil || r.Host == "" {
		return "", nil
	}
	return r.Host, Services{modulesProtocol: registryproxy.Modules}
}

// forProvider returns the host and services for the download of a provider; none if it comes from
// its own registry.
func (r *Registry) forProvider(a providers.Address) (string, Services) {
	switch {
	case r == nil:
		return "", nil
	case IsHost(a.Host, r.Host):
		return a.Host, Services{providersProtocol: registryproxy.Providers}
	case r.Mirror.Serves(a.String()):
		return a.Host, Services{providersProtocol: registryproxy.Upstream(a.Host)}
	}
	return "", nil
}

// Serves returns where the server's registry answers for a provider; no services if the provider comes from
// its own registry, as declined may explain.
func (r *Registry) Serves(ctx context.Context, a providers.Address) (host string, at Services, declined string) {
	if host, at = r.forProvider(a); at == nil {
		return "", nil, ""
	}
	if declined = r.declines(ctx, at, a); declined != "" {
		return "", nil, declined
	}
	return host, at, ""
}

// declines returns why the mirror does not serve a provider, if the server says so: its lists, the
// rights of the stack, or a host in a private network.
func (r *Registry) declines(ctx context.Context, at Services, a providers.Address) string {
	path := at[providersProtocol]
	if !registryproxy.IsUpstream(path) {
		return ""
	}
	return registryproxy.Declined(ctx, r.Open, path+a.Namespace+"/"+a.Type+"/versions")
}

// IsHost reports whether two hosts in sources are the same. Port 443 may be omitted.
func IsHost(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, ":443"), strings.TrimSuffix(b, ":443"))
}

// Connection is a connection of one program to the registry. The nil connection connects to nothing.
type Connection struct {
	proxy    *registryproxy.Proxy
	host     string
	services Services
}

// Connect connects a program to the registry, for a host and its services. The connection is nil
// without services, or if the stack's own configuration has a block for the host.
func (r *Registry) Connect(host string, at Services, own []byte) (*Connection, error) {
	if r == nil || len(at) == 0 || configuresHost(own, host) {
		return nil, nil //nolint:nilnil // nothing to connect to
	}
	proxy, err := registryproxy.Start(r.Open, slices.Sorted(maps.Values(at))...)
	if err != nil {
		return nil, err
	}
	return &Connection{proxy, host, at}, nil
}

// Close ends the connection.
func (c *Connection) Close() {
	if c != nil {
		c.proxy.Close()
	}
}

// Problems are what the registry refused, in words for people.
func (c *Connection) Problems() []string {
	if c == nil {
		return nil
	}
	return c.proxy.Problems()
}

// Relay adds the connection to an isolated network; nil remains nil.
func (c *Connection) Relay(of *confinement.Relay) *confinement.Relay {
	if c == nil || of == nil {
		return of
	}
	relay := *of
	relay.Allow = append(slices.Clone(of.Allow), c.proxy.Address())
	relay.Forwards = append(slices.Clone(of.Forwards), c.proxy.Address())
	return &relay
}

// Config adds the host's services to a CLI configuration.
func (c *Connection) Config(config []byte) ([]byte, error) {
	if c == nil {
		return config, nil
	}
	urls := map[string]string{}
	for protocol, path := range c.services {
		urls[protocol] = c.proxy.URL(path)
	}
	if isJSON(config) {
		return withJSONHost(config, c.host, urls)
	}
	block := fmt.Sprintf("\nhost %s {\n  services = {\n", hclString(c.host))
	for _, protocol := range slices.Sorted(maps.Keys(urls)) {
		block += fmt.Sprintf("    %s = %s\n", hclString(protocol), hclString(urls[protocol]))
	}
	return slices.Concat(config, []byte(block+"  }\n}\n")), nil
}

func withJSONHost(config []byte, host string, urls map[string]string) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(bytes.TrimSpace(config), &object); err != nil {
		return nil, fault.New(run.FailureConfiguration, "read the tool's configuration file: it is not valid JSON")
	}
	hosts, isObject := object["host"].(map[string]any)
	if object["host"] != nil && !isObject { // in a form that the tool understands and this function does not
		return config, nil
	}
	if hosts == nil {
		hosts = map[string]any{}
	}
	hosts[host] = map[string]any{"services": urls}
	object["host"] = hosts
	return json.Marshal(object)
}

// configuresHost reports whether a CLI configuration has a block for the host, which the tool would
// refuse to have twice.
func configuresHost(config []byte, host string) bool {
	if len(config) == 0 {
		return false
	}
	if isJSON(config) || len(config) > MaxUnderstood {
		return bytes.Contains(config, []byte(`"host"`)) || len(config) > MaxUnderstood
	}
	parsed, diags := hclsyntax.ParseConfig(config, workspace.CLIConfigName, hcl.InitialPos)
	body, ok := (*hclsyntax.Body)(nil), false
	if parsed != nil {
		body, ok = parsed.Body.(*hclsyntax.Body)
	}
	if diags.HasErrors() || !ok { // the tool reports the errors
		return true
	}
	return slices.ContainsFunc(body.Blocks, func(b *hclsyntax.Block) bool {
		return b.Type == "host" && len(b.Labels) == 1 && IsHost(b.Labels[0], host)
	})
}
