// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/registry/usage"
)

// builtinProvider is part of the tool.
const builtinProvider = "terraform.io/builtin/terraform"

// approvedProvider is one that stacks may use. In parameters it is an object, or its source alone.
type approvedProvider struct {
	Source   string   `json:"source"`
	Versions string   `json:"versions"`
	Hashes   []string `json:"hashes"`

	allowed usage.Constraint
}

func (a *approvedProvider) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		return json.Unmarshal(raw, &a.Source)
	}
	type plain approvedProvider
	return strict(raw, (*plain)(a))
}

// prepare completes the source: hashicorp/aws is one of the default registry.
func (a *approvedProvider) prepare() (err error) {
	switch a.Source = strings.ToLower(a.Source); strings.Count(a.Source, "/") {
	case 1:
		a.Source = facts.DefaultRegistry + "/" + a.Source
	case 2:
	default:
		return fmt.Errorf("providers: %q is not a provider such as hashicorp/aws, or registry.example.com/acme/*", a.Source)
	}
	if a.allowed, err = usage.ParseConstraint(a.Versions); err != nil {
		return fmt.Errorf("providers: %w", err)
	}
	return nil
}

var approvedProviders = Rule{
	Name:    "approved-providers",
	Summary: "Only approved providers are used.",
	Details: "The rule looks at the configurations of providers in all modules, at the dependency lock file, and at the resources of the plan, those that are only destroyed among them. " +
		"Aliases and local names do not matter: the source does. A provider without an entry in the lock file, of which `versions` or `hashes` are asked, is a finding. " +
		"The tool's own `terraform_data` and `terraform_remote_state` always pass.",
	Parameters: []Parameter{
		{Name: "providers", Type: TypeList, Required: true, Meaning: "The approved providers: their sources, or objects with `source`, `versions` (a range such as `~> 5.0`) and `hashes` (those of the lock file, of which one must be in it and no `h1:` other). " +
			"A source without a host is one of registry.opentofu.org. `*` in a source stands for any text; in the host, for text within the host."},
	},
	Example: "providers: [hashicorp/aws, {source: registry.example.com/acme/*, versions: \">= 1.2\"}]",
	Stages:  everyStage,
	prepare: func(raw json.RawMessage) (check, error) {
		var p struct {
			Providers []approvedProvider `json:"providers"`
		}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		if len(p.Providers) == 0 {
			return nil, errors.New("providers: expected at least one")
		}
		for i := range p.Providers {
			if err := p.Providers[i].prepare(); err != nil {
				return nil, err
			}
		}
		return func(f *facts.Document, _ time.Time, r *report) {
			if !configured(f, r) {
				return
			}
			locked := lockedProviders(f)
			for _, source := range usedProviders(f) {
				judgeProvider(source, usedAt(f, source), locked[source], p.Providers, r)
			}
		}, nil
	},
}

func lockedProviders(f *facts.Document) map[string]*facts.Provider {
	locked := map[string]*facts.Provider{}
	for i := range f.Providers {
		locked[f.Providers[i].Source] = &f.Providers[i]
	}
	return locked
}

// usedProviders returns the sources of all providers that the document knows, sorted.
func usedProviders(f *facts.Document) []string {
	used := map[string]bool{}
	for i := range f.Configuration.Providers {
		used[f.Configuration.Providers[i].Source] = true
	}
	for i := range f.Providers {
		used[f.Providers[i].Source] = true
	}
	for i := range f.Changes {
		used[f.Changes[i].Provider] = true
	}
	delete(used, builtinProvider)
	return slices.Sorted(maps.Keys(used))
}

// usedAt is the position of the first configuration that needs a provider; empty if it is not known.
func usedAt(f *facts.Document, source string) string {
	for i := range f.Configuration.Providers {
		if p := &f.Configuration.Providers[i]; p.Source == source && p.At != "" {
			return p.At
		}
	}
	return ""
}

func judgeProvider(source, position string, lock *facts.Provider, approved []approvedProvider, r *report) {
	if source == "" {
		r.unknown("", "a provider has no source")
		return
	}
	var why string
	for i := range approved {
		a := &approved[i]
		if !matchesSource(a.Source, strings.ToLower(source)) {
			continue
		}
		problem, unknown := a.refuses(lock)
		if problem == "" {
			return
		}
		if why = problem; unknown {
			r.unknown(source, "%s%s", why, at(position))
			return
		}
	}
	if why == "" {
		why = "is not an approved provider"
	}
	r.object(source, "%s%s", why, at(position))
}

// refuses says why the locked version is not approved, and whether it is only not known.
func (a *approvedProvider) refuses(lock *facts.Provider) (problem string, unknown bool) {
	if a.Versions == "" && len(a.Hashes) == 0 {
		return "", false
	}
	if lock == nil {
		return "is not in the dependency lock file, so its version is not known", true
	}
	version, err := semver.NewVersion(lock.Version)
	if err != nil {
		return fmt.Sprintf("its version %q is not a version", lock.Version), true
	}
	if !a.allowed.Allows(version) {
		return fmt.Sprintf("version %s is not approved; approved are %s", lock.Version, a.Versions), false
	}
	if len(a.Hashes) == 0 {
		return "", false
	}
	found := false
	for _, h := range lock.Hashes {
		known := slices.Contains(a.Hashes, h)
		found = found || known
		if strings.HasPrefix(h, "h1:") && !known {
			return "the dependency lock file has the hash " + h + ", which is not approved", false
		}
	}
	if !found {
		return "the dependency lock file has none of the approved hashes", false
	}
	return "", false
}
