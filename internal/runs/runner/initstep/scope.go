// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/usage"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// downloads are the parts of the stores that the run's downloads use.
type downloads struct {
	run    *execution.Run
	site   *execution.Site
	scoped scoped
}

// scoped is chosen once for a run's provider downloads; later changes of files do not count.
type scoped struct {
	chosen bool
	scope  *providers.Scope
	// public is true if the stack has nothing of its own that could change a download.
	public bool
	// why is the reason for not using the store; empty if the stack uses it.
	why string
	// env and authorities are the part of the stack's environment that a download gets.
	env         []run.EnvVar
	authorities []fetch.Authority
}

// providerScope is the run's part of the store; nil without a store, or if the stack installs
// providers in its own way.
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
		s.scope, s.public = d.run.Store.Scope(""), true
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

// installsElsewhere returns the setting that makes the tool use the stack's own providers, if any.
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
	return &fetch.Fetcher{Tool: d.site.Space.Tool, Sandbox: d.run.Opts.Sandbox, Mirror: d.run.Opts.ProviderMirror, Walls: d.run.Walls, Users: d.run.Users, Limits: usage.ProcessLimits(d.run.Spec.Limits, d.run.Walls, d.run.Opts.Pod), Config: d.run.Spec.CLIConfig, Env: d.scoped.env, Authorities: d.scoped.authorities, Mask: d.run.Mask, Relay: d.run.Relay(nil)}
}

// A stack may bring the certificates of a registry or mirror in fileMappings or its source.
// Downloads get copies, and stacks with the same certificates share them.

// takeAuthorities splits an environment into plain variables and the stack's certificates. If a
// download cannot have these, why is the reason.
func (d *downloads) takeAuthorities(env []run.EnvVar) (rest []run.EnvVar, own []fetch.Authority, why string) {
	for _, e := range env {
		name, inside := d.ownPath(e)
		if !inside {
			rest = append(rest, e)
			continue
		}
		if d.site.Space == nil {
			return nil, nil, e.Name + " names a file in the stack's working directory"
		}
		a, err := d.readAuthority(e.Name, name)
		if err != nil {
			return nil, nil, fmt.Sprintf("%s=%s cannot be read: %v", e.Name, e.Value, err)
		}
		own = append(own, a)
	}
	return rest, own, ""
}

// ownPath returns the path, relative to base, of certificates in the stack's own directories.
func (d *downloads) ownPath(e run.EnvVar) (string, bool) {
	if !strings.HasPrefix(e.Name, fetch.AuthorityPrefix) || e.Value == "" {
		return "", false
	}
	if !filepath.IsAbs(e.Value) {
		if d.site.Space == nil {
			return "", true
		}
		return path.Join(d.site.Space.Module, filepath.ToSlash(e.Value)), true
	}
	at := filepath.Clean(e.Value)
	if name, inHome := strings.CutPrefix(at, runnerHome+"/"); inHome {
		return path.Join(workspace.HomeDir, filepath.ToSlash(name)), true
	}
	if !strings.HasPrefix(at, filepath.Clean(d.run.Opts.WorkRoot)+"/") {
		return "", false
	}
	if d.site.Space == nil {
		return "", true
	}
	relative, err := filepath.Rel(d.site.Space.Base, at)
	if err != nil {
		return "..", true
	}
	return filepath.ToSlash(relative), true
}

// runnerHome is a program's home directory, as in tofu-controller's runners.
const runnerHome = "/home/runner"

// readAuthority reads certificates below source or home. Links cannot leave the stack's directory.
func (d *downloads) readAuthority(variable, name string) (fetch.Authority, error) {
	a := fetch.Authority{Name: variable, Files: map[string][]byte{}}
	if first, _, _ := strings.Cut(name, "/"); first != workspace.SourceDir && first != workspace.HomeDir {
		return a, fmt.Errorf("it is neither in the source nor in the home directory")
	}
	w := d.site.Space
	info, err := w.Root.Stat(name)
	if err != nil {
		return a, err
	}
	if !info.IsDir() {
		a.Files["ca.pem"], err = w.Read(name, fetch.MaxCertificateBytes)
		return a, err
	}
	a.Dir = true
	entries, err := fs.ReadDir(w.Root.FS(), name)
	if err != nil {
		return a, err
	}
	size := 0
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := w.Read(path.Join(name, entry.Name()), fetch.MaxCertificateBytes)
		if err != nil {
			return a, err
		}
		a.Files[entry.Name()] = text
		if size += len(text); size > fetch.MaxCertificateBytes || len(a.Files) > fetch.MaxCertificates {
			return a, fmt.Errorf("it has more than %d files, or %d bytes", fetch.MaxCertificates, fetch.MaxCertificateBytes)
		}
	}
	return a, nil
}
