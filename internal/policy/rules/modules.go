// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/registry/usage"
)

// approvedModule is a source that stacks may use. In parameters it is an object, or its source alone.
type approvedModule struct {
	Source   string   `json:"source"`
	Versions string   `json:"versions"`
	Digests  []string `json:"digests"`

	from    facts.Source
	allowed usage.Constraint
}

func (a *approvedModule) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		return json.Unmarshal(raw, &a.Source)
	}
	type plain approvedModule
	return strict(raw, (*plain)(a))
}

func (a *approvedModule) prepare() (err error) {
	// "*" is not a character of names, so patterns are parsed with a word in its place.
	const star = "yubaanytext"
	if strings.Contains(a.Source, star) || strings.TrimSpace(a.Source) == "" {
		return fmt.Errorf("modules: the source %q is empty or not allowed", a.Source)
	}
	a.from = facts.ParseSource(strings.ReplaceAll(a.Source, "*", star))
	if a.from.Kind == facts.SourceLocal || a.from.Kind == facts.SourceOther && !strings.Contains(a.Source, "://") {
		return fmt.Errorf("modules: %q is not the source of a module from elsewhere, such as acme/vpc/aws or git::https://example.com/modules.git//vpc", a.Source)
	}
	back := func(text string) string { return strings.ReplaceAll(text, star, "*") }
	a.from.Package, a.from.Subdir = back(a.from.Package), back(a.from.Subdir)
	for name, values := range a.from.Query {
		for i := range values {
			values[i] = back(values[i])
		}
		a.from.Query[name] = values
	}
	if a.allowed, err = usage.ParseConstraint(a.Versions); err != nil {
		return fmt.Errorf("modules: %w", err)
	}
	if a.Versions != "" && a.from.Kind != facts.SourceRegistry {
		return fmt.Errorf("modules: %q has no versions; write the ref that you approve: ?ref=v1.*", a.Source)
	}
	return nil
}

var approvedModules = Rule{
	Name:    "approved-modules",
	Summary: "Every resource belongs to an approved module.",
	Details: "Sources are compared in canonical form: `github.com/acme/modules` and `git::https://github.com/acme/modules.git` are one source, and `git@github.com:acme/modules.git` and `git::ssh://git@github.com/acme/modules.git` are another one; hosts in upper case, default ports, user names, `.git` and `//` do not matter. " +
		"The source is the one that the tool installed, in its list of modules; without that list every module is a finding. " +
		"A local module (`./x`) belongs to the package of its caller: in an approved package it is approved, in the root module it is not, unless `root` is `allow`. " +
		"Resources of the root module are findings, too, and so are changes of resources whose module is not in the configuration any more, as nobody knows where it came from (`removed: allow` lets them pass). " +
		"Data sources count: they run with the stack's credentials. " +
		"A source that brings its own `.terraform/modules` can claim to have installed any module: such a module is a finding unless an entry with `digests` has the digest of its package. " +
		"Yuba computes digests itself, from the installed files: `h1:` and the hash that `go mod` and lock files use, without `.git`. A finding shows the digest, to be copied.",
	Parameters: []Parameter{
		{Name: "modules", Type: TypeList, Required: true, Meaning: "The approved modules: their sources, or objects with `source`, `versions` (a range, for registries) and `digests` (those of the packages). " +
			"`*` in a source stands for any text; in the host, for text within the host. A source without `//DIR` approves all directories of the package; one with `?ref=` only such refs."},
		{Name: "root", Type: TypeText, Default: "deny", Meaning: "`deny` or `allow`: whether the root module, and local modules that it calls, may have resources."},
		{Name: "removed", Type: TypeText, Default: "deny", Meaning: "`deny` or `allow`: whether resources may be changed whose module is not in the configuration any more."},
	},
	Example: "modules: [registry.example.com/acme/*/aws, {source: acme/vpc/aws, versions: \"~> 2.1\"}, \"git::https://github.com/acme/modules.git?ref=v*\"]",
	Stages:  everyStage,
	prepare: func(raw json.RawMessage) (check, error) {
		p := moduleRule{Root: "deny", Removed: "deny"}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		if len(p.Modules) == 0 {
			return nil, errors.New("modules: expected at least one")
		}
		for i := range p.Modules {
			if err := p.Modules[i].prepare(); err != nil {
				return nil, err
			}
		}
		return p.judge, errors.Join(oneOf("root", p.Root, "deny", "allow"), oneOf("removed", p.Removed, "deny", "allow"))
	},
}

type moduleRule struct {
	Modules []approvedModule `json:"modules"`
	Root    string           `json:"root"`
	Removed string           `json:"removed"`
}

func (p *moduleRule) judge(f *facts.Document, _ time.Time, r *report) {
	if !configured(f, r) {
		return
	}
	// The package of each module, by the call that installed it; that of the root module is "".
	pkg := map[string]string{"": ""}
	for i := range f.Configuration.Modules {
		m := &f.Configuration.Modules[i]
		pkg[m.Key] = m.Package
		if m.Local {
			if m.Package == "" && p.Root == "deny" {
				r.object(moduleAddress(m.Key), "the module %s belongs to the root module, which is not approved%s", m.Source, at(m.At))
			}
			continue
		}
		p.approve(f, m, r)
	}
	reported := map[string]bool{}
	for i := range f.Configuration.Resources {
		if res := &f.Configuration.Resources[i]; res.Module == "" && p.Root == "deny" {
			reported[res.Address] = true
			r.object(res.Address, "belongs to the root module, which is not approved%s", at(res.At))
		}
	}
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.Action == facts.ActionNoOp && !c.Imports {
			continue
		}
		of, known := pkg[c.Module]
		switch {
		case !known && p.Removed == "deny":
			r.unknown(c.Address, "its module is not in the configuration any more, so its source is not known")
		case known && of == "" && p.Root == "deny" && !reported[c.Type+"."+c.Name] && !reported["data."+c.Type+"."+c.Name]:
			r.object(c.Address, "belongs to the root module, which is not approved")
		}
	}
}

// approve judges a call of a module from elsewhere.
func (p *moduleRule) approve(f *facts.Document, m *facts.Module, r *report) {
	address := moduleAddress(m.Key)
	if !m.Installed && !f.Configuration.Initialized {
		// Init comes later: only a source that no entry approves can be judged.
		if source := facts.ParseSource(m.Normalized); !slices.ContainsFunc(p.Modules, func(a approvedModule) bool { return a.is(source) }) {
			r.object(address, "the source %s is not approved%s", m.Normalized, at(m.At))
		}
		return
	}
	if !m.Installed {
		r.unknown(address, "the list of installed modules does not have it, so its source is not known")
		return
	}
	source := facts.ParseSource(m.Normalized)
	var why string
	for i := range p.Modules {
		a := &p.Modules[i]
		if !a.is(source) {
			continue
		}
		problem, unknown := a.refuses(m)
		if problem == "" {
			return
		}
		if why = problem; unknown {
			r.unknown(address, "%s", why)
			return
		}
	}
	if why == "" {
		why = "the source " + m.Normalized + " is not approved"
	}
	r.object(address, "%s%s", why, at(m.At))
}

// is reports whether a source is the approved one.
func (a *approvedModule) is(source facts.Source) bool {
	if a.from.Kind != source.Kind || !matchesSource(a.from.Package, source.Package) || a.from.Subdir != "" && !matches(a.from.Subdir, source.Subdir) {
		return false
	}
	for name, wanted := range a.from.Query {
		// With two refs, it depends on the getter which one it uses.
		if have := source.Query[name]; len(have) != 1 || !slices.ContainsFunc(wanted, func(w string) bool { return matches(w, have[0]) }) {
			return false
		}
	}
	return true
}

// refuses says why an installed package is not approved, and whether it is only not known.
func (a *approvedModule) refuses(m *facts.Module) (problem string, unknown bool) {
	if m.Brought && len(a.Digests) == 0 {
		return "the stack's source brings this module itself, so nobody knows whether it is " + m.Normalized + "; remove .terraform from the source, or approve the digest " + cmp.Or(m.Digest, "of the package"), true
	}
	if a.Versions != "" {
		version, err := semver.NewVersion(m.Version)
		if err != nil {
			return fmt.Sprintf("its version %q is not known", m.Version), true
		}
		if !a.allowed.Allows(version) {
			return fmt.Sprintf("version %s of %s is not approved; approved are %s", m.Version, m.Normalized, a.Versions), false
		}
	}
	if len(a.Digests) > 0 {
		if m.Digest == "" {
			return "the digest of its package is not known", true
		}
		if !slices.Contains(a.Digests, m.Digest) {
			return "the digest of its package, " + m.Digest + ", is not approved", false
		}
	}
	return "", false
}
