// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The used part of the configuration in `tofu show -json`.
type (
	shownConfiguration struct {
		ProviderConfig map[string]struct {
			FullName          string `json:"full_name"`
			Alias             string `json:"alias"`
			VersionConstraint string `json:"version_constraint"`
			ModuleAddress     string `json:"module_address"`
			// Expressions have the blocks, too.
			Expressions map[string]json.RawMessage `json:"expressions"`
		} `json:"provider_config"`
		RootModule shownModule `json:"root_module"`
	}
	shownModule struct {
		Resources []struct {
			Address           string `json:"address"`
			Mode              string `json:"mode"`
			Type              string `json:"type"`
			Name              string `json:"name"`
			ProviderConfigKey string `json:"provider_config_key"`
			Provisioners      []struct {
				Type string `json:"type"`
			} `json:"provisioners"`
		} `json:"resources"`
		ModuleCalls map[string]struct {
			Source            string       `json:"source"`
			VersionConstraint string       `json:"version_constraint"`
			Module            *shownModule `json:"module"`
		} `json:"module_calls"`
		Variables map[string]struct {
			Sensitive bool `json:"sensitive"`
		} `json:"variables"`
	}
)

// maxDepth limits the nesting of modules; the tool's own limit of paths is near.
const maxDepth = 64

// moduleList is the tool's list of installed modules, .terraform/modules/modules.json.
type moduleList struct {
	Modules []struct {
		Key, Source, Version, Dir string
	}
}

// readConfiguration describes the configuration.
func (b *builder) readConfiguration(raw json.RawMessage, in *Inputs) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var shown shownConfiguration
	if err := json.Unmarshal(raw, &shown); err != nil {
		return fmt.Errorf("the configuration in it: %w", errBroken)
	}
	installed, err := installedModules(in)
	if err != nil {
		return err
	}
	c := &b.document.Configuration
	c.Known, c.Initialized = true, true
	for key, p := range shown.ProviderConfig {
		path, err := modulePath(p.ModuleAddress)
		if err != nil {
			return err
		}
		c.Providers = append(c.Providers, ProviderConfig{Key: key, Source: p.FullName, Alias: p.Alias, Module: path, Constraint: p.VersionConstraint})
		b.providerOf[key] = p.FullName
		if _, there := p.Expressions["exec"]; there || bytes.Contains(p.Expressions["kubernetes"], []byte(`"exec"`)) {
			name, _, _ := strings.Cut(key[strings.LastIndexByte(key, ':')+1:], ".")
			c.Programs = append(c.Programs, Program{Module: path, Address: "provider." + name, Kind: "exec"})
		}
	}
	slices.SortFunc(c.Programs, func(a, b Program) int { return strings.Compare(a.Module+"."+a.Address, b.Module+"."+b.Address) })
	slices.SortFunc(c.Providers, func(a, b ProviderConfig) int { return strings.Compare(a.Key, b.Key) })
	if err := b.module(&shown.RootModule, "", "", installed, 0); err != nil {
		return err
	}
	for name, v := range shown.RootModule.Variables {
		b.sensitive[name] = v.Sensitive
	}
	return nil
}

// installedModules are the modules in the tool's list, by key.
func installedModules(in *Inputs) (map[string]Module, error) {
	installed := map[string]Module{}
	if in.ModuleList == nil {
		return installed, nil
	}
	var list moduleList
	if json.Unmarshal(in.ModuleList, &list) != nil {
		return nil, errors.New("the list of installed modules (modules.json) is not JSON of the expected form")
	}
	for _, m := range list.Modules {
		installed[m.Key] = Module{Installed: true, Version: m.Version, InstalledSource: m.Source, Digest: in.ModuleDigests[m.Key], Brought: in.ModulesBrought[m.Key]}
	}
	return installed, nil
}

// called describes a call. pkg is the package of the caller.
func (b *builder) called(place, source, constraint, pkg string, installed map[string]Module) Module {
	one := installed[place]
	one.Key, one.Source, one.Constraint = place, source, constraint
	from := ParseSource(cmp.Or(one.InstalledSource, source))
	one.Normalized, one.Local, one.Package = from.String(), from.Kind == SourceLocal, place
	if one.Local {
		one.Package = pkg
	}
	return one
}

// module describes a module and those that it calls. key is its path, pkg the call of its package.
func (b *builder) module(m *shownModule, key, pkg string, installed map[string]Module, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the module %s is nested more than %d deep", key, maxDepth)
	}
	c := &b.document.Configuration
	for _, r := range m.Resources {
		one := Resource{Module: key, Address: r.Address, Mode: r.Mode, Type: r.Type, Provider: b.providerOf[r.ProviderConfigKey]}
		for _, p := range r.Provisioners {
			one.Provisioners = append(one.Provisioners, p.Type)
		}
		c.Resources = append(c.Resources, one)
		b.declared[declaration{key, r.Mode, r.Type, r.Name}] = true
	}
	for _, name := range slices.Sorted(maps.Keys(m.ModuleCalls)) {
		call := m.ModuleCalls[name]
		place := strings.TrimPrefix(key+"."+name, ".")
		one := b.called(place, call.Source, call.VersionConstraint, pkg, installed)
		c.Modules = append(c.Modules, one)
		if call.Module == nil {
			continue
		}
		if err := b.module(call.Module, place, one.Package, installed, depth+1); err != nil {
			return err
		}
	}
	return nil
}
