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
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
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

// A registry or a mirror may have a certificate of an authority of its own, which the stack brings as a file: by
// fileMappings, or in its source. Downloads for the stores happen elsewhere, so that such files go with them, and stacks
// share what was downloaded with others that bring the same.

// takeAuthorities splits an environment into what a download gets as it is and the certificates of the stack's own. Why
// says why a download cannot have them; empty when it can.
func (d *downloads) takeAuthorities(env []run.EnvVar) (rest []run.EnvVar, own []fetch.Authority, why string) {
	for _, e := range env {
		name, inside := d.ownPath(e)
		if !inside {
			rest = append(rest, e)
			continue
		}
		if d.site.Space == nil {
			return nil, nil, e.Name + " names a file of the stack's own"
		}
		a, err := d.readAuthority(e.Name, name)
		if err != nil {
			return nil, nil, fmt.Sprintf("%s=%s cannot be read: %v", e.Name, e.Value, err)
		}
		own = append(own, a)
	}
	return rest, own, ""
}

// ownPath says whether a variable names certificates in the stack's own directories, and where, relative to its base.
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

// runnerHome is where a program finds its home directory, as in tofu-controller's runners.
const runnerHome = "/home/runner"

// readAuthority reads certificates below the source or the home directory. No link leads out of the stack's directory.
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
