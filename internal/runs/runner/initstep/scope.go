// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
)

// downloads are the parts of the stores that the run's downloads come from and go to.
type downloads struct {
	run    *execution.Run
	site   *execution.Site
	scoped scoped
}

// scoped is what was chosen for a run's downloads of providers, once: what the program does to its files counts no more.
type scoped struct {
	chosen bool
	scope  *providers.Scope
	// why says why the stack does without the store; empty when it does not.
	why string
	// env and authorities are what of the stack's environment a download gets.
	env         []run.EnvVar
	authorities []fetch.Authority
}

// providerScope is the part of the store that the run's providers come from and go to; nil without a store, or when the
// stack has the tool look in places of its own.
func (d *downloads) providerScope() *providers.Scope {
	if d.run.Store == nil {
		return nil
	}
	if !d.scoped.chosen {
		d.scoped = d.chooseScope()
	}
	return d.scoped.scope
}

func (d *downloads) chooseScope() scoped {
	s := scoped{chosen: true}
	if s.why = d.installsElsewhere(); s.why != "" {
		return s
	}
	if s.env, s.authorities, s.why = d.takeAuthorities(fetch.Environment(&d.run.Spec)); s.why != "" {
		return s
	}
	if len(d.run.Spec.CLIConfig) == 0 && len(s.env) == 0 && len(s.authorities) == 0 {
		s.scope = d.run.Store.Scope("")
		return s
	}
	if !fetch.Understood(d.run.Spec.CLIConfig) {
		s.why = "the stack's own configuration of the tool says where providers are installed from"
		return s
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%d:%s", len(d.run.Spec.CLIConfig), d.run.Spec.CLIConfig)
	for _, e := range s.env {
		fmt.Fprintf(hash, "%d:%s=%d:%s", len(e.Name), e.Name, len(e.Value), e.Value)
	}
	if len(s.authorities) > 0 {
		hash.Write(execution.Encode(s.authorities))
	}
	s.scope = d.run.Store.Scope(hex.EncodeToString(hash.Sum(nil)))
	return s
}

// installsElsewhere says what has the tool look for providers in places of the stack's own; empty for nothing.
func (d *downloads) installsElsewhere() string {
	for _, e := range d.run.Spec.Env {
		if fetch.HasAnyPrefix(e.Name, fetch.OwnNames) || e.Name == "TF_CLI_ARGS" || e.Name == "TF_CLI_ARGS_init" {
			return "the environment has " + e.Name
		}
	}
	for _, f := range d.run.Spec.Files {
		if f.Location == run.FileInHome && fetch.HasAnyPrefix(f.Path, fetch.OwnFiles) {
			return "the home directory has " + f.Path
		}
	}
	return ""
}

func (d *downloads) fetcher() *fetch.Fetcher {
	return &fetch.Fetcher{Tool: d.site.Space.Tool, Sandbox: d.run.Opts.Sandbox, Mirror: d.run.Opts.ProviderMirror, Walls: d.run.Walls, Users: d.run.Users, Limits: meter.ProcessLimits(d.run.Spec.Limits, d.run.Walls), Config: d.run.Spec.CLIConfig, Env: d.scoped.env, Authorities: d.scoped.authorities, Mask: d.run.Mask}
}
