// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

var (
	commitName   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	versionName  = regexp.MustCompile(`(^|[/-])v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	exactVersion = regexp.MustCompile(`^\s*=?\s*v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?\s*$`)
)

// pinning are the parameters of pinned-versions.
type pinning struct {
	Modules   string `json:"modules"`
	Refs      string `json:"refs"`
	Providers string `json:"providers"`
}

var pinnedVersions = Rule{
	Name:    "pinned-versions",
	Summary: "Each module and provider has one version, so the same commit makes the same plan.",
	Details: "Modules in the source itself pass. A module in a registry has an exact version; one in git has `?ref=` with a commit or a version; one in an OCI registry a `digest`, or a `tag` that is a version; " +
		"any other source has a `checksum`, or a version in S3 or GCS. All modules are looked at, those that other modules call among them. " +
		"Each provider is in the dependency lock file with a version and hashes.",
	Parameters: []Parameter{
		{Name: "modules", Type: TypeText, Default: "exact", Meaning: "`exact`, or `any` to leave out modules."},
		{Name: "refs", Type: TypeText, Default: "version", Meaning: "`version`: a `ref` is a commit, or has the name of a version, such as v1.2.3. `commit`: a `ref` is a commit, as tags can be moved and branches can have such names."},
		{Name: "providers", Type: TypeText, Default: "locked", Meaning: "`locked`; `exact` to ask for an exact version in the configuration, too; `any` to leave out providers."},
	},
	Example: "refs: commit",
	Stages:  everyStage,
	prepare: func(raw json.RawMessage) (check, error) {
		p := pinning{Modules: "exact", Refs: "version", Providers: "locked"}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		for _, err := range []error{oneOf("modules", p.Modules, "exact", "any"), oneOf("refs", p.Refs, "version", "commit"), oneOf("providers", p.Providers, "locked", "exact", "any")} {
			if err != nil {
				return nil, err
			}
		}
		return p.judge, nil
	},
}

func (p *pinning) judge(f *facts.Document, _ time.Time, r *report) {
	if !configured(f, r) {
		return
	}
	if p.Modules == "exact" {
		for i := range f.Configuration.Modules {
			p.module(&f.Configuration.Modules[i], r)
		}
	}
	if p.Providers == "any" {
		return
	}
	locked := lockedProviders(f)
	for _, source := range usedProviders(f) {
		switch lock := locked[source]; {
		case lock == nil:
			r.object(source, "is not in the dependency lock file")
		case lock.Version == "" || len(lock.Hashes) == 0:
			r.object(source, "has no version or no hashes in the dependency lock file")
		}
	}
	if p.Providers == "exact" {
		exact := map[string]bool{}
		for i := range f.Configuration.Providers {
			c := &f.Configuration.Providers[i]
			exact[c.Source] = exact[c.Source] || exactVersion.MatchString(c.Constraint)
		}
		for i := range f.Configuration.Providers {
			if c := &f.Configuration.Providers[i]; c.Source != builtinProvider && !exact[c.Source] {
				exact[c.Source] = true // once
				r.object(c.Source, "no module asks for an exact version")
			}
		}
	}
}

// module judges one call.
func (p *pinning) module(m *facts.Module, r *report) {
	address := moduleAddress(m.Key)
	source := facts.ParseSource(m.Normalized)
	if written := facts.ParseSource(m.Source); written.Kind != facts.SourceOther && written.Kind != source.Kind {
		r.unknown(address, "the source %q was installed from %q", m.Source, m.InstalledSource)
		return
	}
	switch {
	case source.Kind == facts.SourceLocal:
	case source.Kind == facts.SourceRegistry:
		if !exactVersion.MatchString(m.Constraint) {
			r.object(address, "the version %q is not an exact one%s", m.Constraint, at(m.At))
		}
	case source.Kind == facts.SourceGit:
		refs := source.Query["ref"]
		if len(refs) != 1 || !commitName.MatchString(refs[0]) && (p.Refs == "commit" || !versionName.MatchString(refs[0])) {
			r.object(address, "the ref %q is not a %s%s", strings.Join(refs, ", "), map[string]string{"commit": "commit", "version": "commit or a version"}[p.Refs], at(m.At))
		}
	default:
		q := source.Query
		if q.Get("checksum") == "" && q.Get("digest") == "" && q.Get("versionId") == "" && q.Get("version") == "" && q.Get("generation") == "" && !versionName.MatchString(q.Get("tag")) {
			r.object(address, "the source %s is not pinned to a version%s", m.Normalized, at(m.At))
		}
	}
}
