// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// declare describes a configuration that was read without the tool.
func (b *builder) declare(in *Inputs) error {
	installed, err := installedModules(in)
	if err != nil {
		return err
	}
	c := &b.document.Configuration
	c.Known, c.Initialized = true, in.ModuleList != nil
	packages := map[string]string{"": ""}
	for _, call := range in.Declared.Calls {
		one := b.called(call.Key, call.Source, call.Version, packages[parentOf(call.Key)], installed)
		one.At = positionOf(call.Pos)
		packages[call.Key] = one.Package
		c.Modules = append(c.Modules, one)
	}
	for _, r := range in.Declared.Resources {
		address := r.Type + "." + r.Name
		if r.Mode != "managed" {
			address = r.Mode + "." + address
		}
		c.Resources = append(c.Resources, Resource{Module: r.Module, Address: address, Mode: r.Mode, Type: r.Type, Provider: providerSource(r.Provider),
			Provisioners: r.Provisioners, Removed: r.Removed, At: positionOf(r.Pos)})
	}
	// Those that resources imply are among the configurations, too: the tool lists them so.
	seen := map[[2]string]bool{}
	for _, p := range in.Declared.Providers {
		key := strings.TrimSuffix(p.Name+"."+p.Alias, ".")
		if p.Module != "" {
			key = moduleOf(p.Module) + ":" + key
		}
		seen[[2]string{p.Module, providerSource(p.Source)}] = true
		c.Providers = append(c.Providers, ProviderConfig{Key: key, Source: providerSource(p.Source), Alias: p.Alias, Module: p.Module, Constraint: p.Version, At: positionOf(p.Pos)})
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		if of := [2]string{r.Module, r.Provider}; !r.Removed && !seen[of] {
			seen[of] = true
			name, _, _ := strings.Cut(r.Type, "_")
			c.Providers = append(c.Providers, ProviderConfig{Key: name, Source: r.Provider, Module: r.Module, At: r.At})
		}
	}
	for _, p := range in.Declared.Programs {
		c.Programs = append(c.Programs, Program{Module: p.Module, Address: p.Address, Kind: p.Kind, At: positionOf(p.Pos)})
	}
	for _, u := range in.Declared.Unread {
		c.Unread = append(c.Unread, Unread{Module: u.Module, Why: u.Why, Remote: u.Remote, At: positionOf(u.Pos)})
	}
	return nil
}

func parentOf(key string) string {
	parent := strings.LastIndexByte(key, '.')
	return key[:max(parent, 0)]
}

func moduleOf(key string) string { return "module." + strings.ReplaceAll(key, ".", ".module.") }

func positionOf(p module.Position) string {
	if p.File == "" {
		return ""
	}
	return p.String()
}

// providerSource completes a provider's source. One that cannot be parsed stays as it is, so that
// nothing approves it.
func providerSource(written string) string {
	a, err := providers.ParseAddress(written, DefaultRegistry)
	if err != nil {
		return written
	}
	return a.String()
}
