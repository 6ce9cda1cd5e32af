// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// The tool's "providers lock" ignores how a configuration installs providers: it asks their own registries, unless a flag
// names a mirror. So each provider is locked from where init would get it.

// lockOrigin is where providers of a lock file come from.
type lockOrigin struct {
	// mirror is a directory of the machine; empty for a registry.
	mirror string
	// registry answers for host; nil if the host does so itself.
	registry  *fetch.Registry
	host      string
	services  fetch.Services
	providers []string
}

// LockProviders returns the lock file of the program with the hashes for more platforms, or nothing if the program needs
// no providers. lock runs the tool's command with the arguments that a provider needs. What the stack's runs use stays:
// afterwards the lock file is the one of before.
func (s *Step) LockProviders(ctx context.Context, lock func(args ...string) error) (text []byte, err error) {
	w := s.site.Space
	name := w.InModule(workspace.LockFileTF)
	before, err := w.Read(name, workspace.MaxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.DiskClass(err), "read the dependency lock file: %w", err)
	}
	defer func() { err = errors.Join(err, w.Write(name, before)) }()
	parsed, err := providers.ParseLockFile(before)
	if err != nil {
		return nil, fault.New(run.FailureConfiguration, "%w", err)
	}
	needs, err := s.providers.readProviders()
	if err != nil {
		return nil, err
	}
	locks, others := lockable(parsed.Locks, needs, providers.DefaultHost(w.Tool.Name))
	if len(others) > 0 {
		s.run.Log.Note("Providers: %s stay as they are locked, because the program does not need them; a state may", strings.Join(others, ", "))
	}
	origins, err := s.lockOrigins(ctx, locks)
	if err != nil {
		return nil, err
	}
	for _, o := range origins {
		args := o.providers
		if o.mirror != "" {
			args = slices.Insert(slices.Clone(args), 0, "-fs-mirror="+o.mirror)
		}
		if err := s.downloads.through(s.program, o.registry, o.host, o.services, func() error { return lock(args...) }); err != nil {
			return nil, err
		}
	}
	if text, err = w.Read(name, workspace.MaxLockFile); err != nil {
		return nil, fault.New(fault.DiskClass(err), "read the dependency lock file: %w", err)
	}
	return text, nil
}

// lockable divides the locked providers into those that the tool locks and the others: it refuses a provider that only
// a state needs. If it is not clear what the program needs, the tool decides.
func lockable(locks []providers.Lock, needs module.ProviderNeeds, host string) (of []providers.Lock, others []string) {
	if needs.Unclear != "" || needs.Others {
		return locks, nil
	}
	needed := map[providers.Address]bool{}
	for source := range needs.Providers {
		a, err := providers.ParseAddress(source, host)
		if err != nil {
			return locks, nil
		}
		needed[a] = true
	}
	for _, l := range locks {
		if needed[l.Address] {
			of = append(of, l)
		} else {
			others = append(others, l.Address.Short())
		}
	}
	return of, others
}

// lockOrigins groups the locked providers by their origin.
func (s *Step) lockOrigins(ctx context.Context, locks []providers.Lock) (all []*lockOrigin, err error) {
	mirrors, err := s.downloads.machineMirrors()
	if err != nil {
		return nil, err
	}
	for _, l := range locks {
		o := s.lockOrigin(ctx, mirrors, l.Address)
		same := slices.IndexFunc(all, func(other *lockOrigin) bool {
			return other.mirror == o.mirror && other.host == o.host && (len(other.services) == 0) == (len(o.services) == 0)
		})
		if same < 0 {
			all, same = append(all, o), len(all)
		}
		all[same].providers = append(all[same].providers, l.Address.String())
	}
	return all, nil
}

func (s *Step) lockOrigin(ctx context.Context, mirrors []fetch.Origin, a providers.Address) *lockOrigin {
	for _, m := range mirrors {
		if slices.Contains(m.Providers, a.String()) {
			return &lockOrigin{mirror: m.Dir}
		}
	}
	registry := s.downloads.providerSource(a).fetch.Registry
	host, services, declined := registry.Serves(ctx, a)
	if declined != "" {
		s.run.Log.Note("Providers: %s comes from its own registry: %s", a.Short(), declined)
	}
	return &lockOrigin{registry: registry, host: host, services: services}
}
