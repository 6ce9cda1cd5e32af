// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// tellUses reports the resolved modules and providers. They are read again after an init only:
// nothing else changes them.
func (s *Step) tellUses(again bool) {
	w := s.site.Space
	if again || w.Record.Uses == nil || !digested(w.Record.Uses) {
		w.Record.Uses = s.readUses()
	}
	s.run.Result.Uses = w.Record.Uses
}

// digested reports whether the packages have digests, as those of earlier versions have none.
func digested(uses *run.Uses) bool {
	return !slices.ContainsFunc(uses.Modules, func(m run.UsedModule) bool { return m.Digest == "" })
}

// readUses reads the tool's list of modules, their calls and the lock file. What it cannot read it
// omits: the tool has accepted these files, and reports problems better.
func (s *Step) readUses() *run.Uses {
	w, uses := s.site.Space, &run.Uses{}
	uses.Modules, uses.MoreModules = s.usedModules()
	text, err := w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile)
	if err != nil {
		return uses
	}
	lock, err := providers.ParseLockFile(text)
	if err != nil {
		return uses
	}
	constraints := s.providerConstraints()
	for _, l := range lock.Locks {
		uses.Providers = append(uses.Providers, run.UsedProvider{Source: l.Address.String(), Version: l.Version, Constraint: cmp.Or(l.Constraints, constraints[l.Address])})
	}
	slices.SortFunc(uses.Providers, func(a, b run.UsedProvider) int { return strings.Compare(a.Source, b.Source) })
	return uses
}

// providerConstraints returns the constraints of all modules: a lock file of the provider store does
// not have them.
func (s *Step) providerConstraints() map[providers.Address]string {
	w := s.site.Space
	source, err := os.OpenRoot(filepath.Join(w.Base, workspace.SourceDir))
	if err != nil {
		return nil
	}
	defer source.Close() //nolint:errcheck // it was only read
	all := map[providers.Address]string{}
	for name, list := range module.ReadProviders(source.FS(), s.rootModule(), module.ReadOptions{Terraform: w.Tool.Name == "terraform"}).Providers {
		if address, err := providers.ParseAddress(name, providers.DefaultHost(w.Tool.Name)); err == nil {
			all[address] = s.run.Mask.Text(strings.Join(list, ", "))
		}
	}
	return all
}

// rootModule is the root module's directory in the source.
func (s *Step) rootModule() string {
	return path.Clean("./" + strings.TrimPrefix(s.site.Space.Module, workspace.SourceDir))
}

// usedModules returns the modules of other origins.
func (s *Step) usedModules() (used []run.UsedModule, more int) {
	w := s.site.Space
	text, err := w.Read(w.InModule(workspace.ManifestTF), modules.MaxListBytes)
	var list modules.List
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil, 0
	}
	dirs := map[string]string{"": "."}
	var elsewhere []modules.Installed
	for _, m := range list.Modules {
		dirs[m.Key] = m.Dir
		if !(module.Call{Source: m.Source}).Local() && m.Key != "" {
			elsewhere = append(elsewhere, m)
		}
	}
	if len(elsewhere) == 0 {
		return nil, 0
	}
	slices.SortFunc(elsewhere, func(a, b modules.Installed) int { return strings.Compare(a.Key, b.Key) })
	if more = len(elsewhere) - run.MaxUsedModules; more > 0 {
		elsewhere = elsewhere[:run.MaxUsedModules]
	}
	source, err := os.OpenRoot(filepath.Join(w.Base, workspace.SourceDir))
	if err != nil {
		return nil, 0
	}
	defer source.Close() //nolint:errcheck // it was only read
	root := s.rootModule()
	moved := displaced(list.Modules, dirs)
	reader := module.NewCallReader(source.FS(), module.ReadOptions{Terraform: w.Tool.Name == "terraform"})
	for _, m := range elsewhere {
		one := run.UsedModule{Key: m.Key, Source: s.plainSource(m.Source), Version: m.Version, Brought: w.Record.Brought}
		if !moved[m.Key] {
			one.Digest = packageDigest(source, root, m.Key)
		}
		caller, name := splitKey(m.Key)
		if dir, there := dirs[caller]; there {
			calls, err := reader.Calls(path.Join(root, dir), false)
			if err == nil {
				one.Constraint = s.run.Mask.Text(calls[name].Version)
			}
		}
		used = append(used, one)
	}
	return used, max(more, 0)
}

// credentials matches a password in a URL.
var credentials = regexp.MustCompile(`(://[^/@:]*):[^/@]*@`)

// plainSource returns a source without credentials.
func (s *Step) plainSource(source string) string {
	return s.run.Mask.Text(credentials.ReplaceAllString(source, "$1@"))
}
