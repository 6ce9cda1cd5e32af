// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// providerStep gets providers from the provider store, and offers them to init.
type providerStep struct {
	run       *execution.Run
	site      *execution.Site
	program   *supervisor.Supervisor
	downloads *downloads
	modules   *moduleStep
	providing providing
}

// providing is the part of the provider store that a job uses.
type providing struct {
	// plainConfig is the CLI configuration without the store; nil if that is in place.
	plainConfig []byte
	// openConfig is the current one plus the stack's own installation methods; nil if it has none.
	openConfig []byte
	// before is the original lock file, if there was one.
	before   []byte
	packages []*providers.Package
	// complete is true if the program needs no other providers, so init need not search.
	complete bool
	// chosen is true if this step, not a lock file, chose the version of a provider.
	chosen bool
}

// keepProviders holds the store packages that an earlier init linked. It reports false if one is
// gone, so that init runs again.
func (s *providerStep) keepProviders() bool {
	scopes := s.downloads.providerScopes()
	for _, target := range workspace.LinksBelow(s.site.Space.Root.Root, s.site.Space.Module) {
		if _, err := os.Stat(target); err != nil {
			return false
		}
		for _, scope := range scopes {
			held, inScope, err := scope.HoldDir(target)
			if !inScope {
				continue
			}
			if err != nil || held == nil {
				return false
			}
			s.providing.packages = append(s.providing.packages, held)
		}
	}
	return true
}

// provide gets the providers that the program needs into the store. The CLI configuration then
// names the store, and the lock file each package. Init gets everything unknown.
func (s *providerStep) provide(ctx context.Context) error {
	if s.downloads.providerScope() == nil {
		s.sayWithoutStore()
		return nil
	}
	lock, before, ok := s.readLockFile()
	if !ok || s.bringsProviders() {
		return nil
	}
	if s.run.Spec.Upgrade && !s.modules.used.complete { // init does not upgrade modules if all providers are here
		if err := s.site.Space.Remove(workspace.DataDirTF + "/modules"); err != nil {
			return err
		}
	}
	needs, err := s.providerNeeds(ctx)
	if err != nil {
		return err
	}
	wants, complete, err := s.providerWants(needs, &lock)
	if err != nil || len(wants) == 0 || len(wants) > maxWants {
		return err
	}
	got, err := s.getProviders(ctx, wants)
	if err != nil {
		return err
	}
	complete = complete && len(got) == len(wants)
	s.providing.before, s.providing.complete = before, complete
	s.providing.chosen = slices.ContainsFunc(wants, func(w wish) bool { return w.Version == "" })
	return s.offerProviders(&lock, got)
}

// sayWithoutStore logs why the stack cannot share downloads.
func (s *providerStep) sayWithoutStore() {
	if s.downloads.scoped.why != "" {
		s.run.Log.Note("Providers and modules that are not here yet are downloaded for this stack alone: %s", s.downloads.scoped.why)
	}
}

// maxWants limits the providers of a program; with more, init gets them.
const maxWants = 100

// readLockFile reads the lock file for init. The tool reports an invalid one.
func (s *providerStep) readLockFile() (lock providers.LockFile, text []byte, ok bool) {
	text, err := s.site.Space.Read(s.site.Space.InModule(workspace.LockFileTF), workspace.MaxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return lock, nil, true
	}
	if err == nil {
		lock, err = providers.ParseLockFile(text)
	}
	return lock, text, err == nil
}

// providerNeeds reads what the program needs, after fetching remote modules, which have needs too.
func (s *providerStep) providerNeeds(ctx context.Context) (module.ProviderNeeds, error) {
	needs, err := s.readProviders()
	if err != nil || !needs.Remote {
		return needs, err
	}
	args := []string{"get", "-no-color"}
	if s.run.Spec.Upgrade {
		args = append(args, "-update")
	}
	s.run.Log.Note("Fetching modules")
	err = s.downloads.connected(s.program, func() error {
		return s.program.InitCommand(ctx, s.site.Space.Own && s.site.Space.Named != "default", args...)
	})
	var f *fault.Failure
	if errors.As(err, &f) && (f.Outcome != "" || f.Class == run.FailureLimit || f.Class == run.FailureKilled) {
		return needs, err
	}
	if err != nil { // init reports the error
		return needs, nil
	}
	return s.readProviders()
}

func (s *providerStep) readProviders() (module.ProviderNeeds, error) {
	w := s.site.Space
	source, err := os.OpenRoot(filepath.Join(w.Base, workspace.SourceDir))
	if err != nil {
		return module.ProviderNeeds{}, fmt.Errorf("read which providers are needed: %w", err)
	}
	defer source.Close()
	dir := strings.TrimPrefix(strings.TrimPrefix(w.Module, workspace.SourceDir), "/")
	return module.ReadProviders(source.FS(), cmp.Or(dir, "."), module.ReadOptions{Terraform: w.Tool.Name == "terraform"}), nil
}

// wish is a provider to get from the store. Init does not need an optional one.
type wish struct {
	providers.Want
	optional bool
}

// providerWants returns the providers to get, and whether these are all.
func (s *providerStep) providerWants(needs module.ProviderNeeds, lock *providers.LockFile) (wants []wish, complete bool, err error) {
	mirrors, err := s.downloads.machineMirrors()
	if err != nil {
		return nil, false, err
	}
	mirror := allProviders(mirrors)
	host := providers.DefaultHost(s.site.Space.Tool.Name)
	constraints := map[providers.Address][]string{}
	complete = needs.Unclear == "" && !needs.Others
	for source, list := range needs.Providers {
		a, err := providers.ParseAddress(source, host)
		if err != nil {
			complete = false
			continue
		}
		constraints[a] = append(constraints[a], list...)
	}
	needed := maps.Clone(constraints)
	if needs.Unclear != "" { // also use what the last init locked
		for _, l := range lock.Locks {
			if _, known := constraints[l.Address]; !known {
				constraints[l.Address] = nil // any version
			}
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(constraints), func(a, b providers.Address) int { return strings.Compare(a.String(), b.String()) }) {
		if slices.Contains(mirror, a.String()) {
			continue // the tool takes it from the mirror, and chooses the version
		}
		_, sure := needed[a]
		want := wish{providers.Want{Address: a}, !sure}
		locked := lock.Find(a)
		if locked != nil {
			want.LockedVersion, want.Locked = locked.Version, locked.Hashes
		}
		all, err := providers.ParseConstraints(constraints[a])
		switch {
		case err != nil:
			complete = false
			continue
		case locked != nil && !s.run.Spec.Upgrade:
			want.Version = locked.Version
		case needs.Unclear != "":
			continue
		default:
			want.Constraints = all
		}
		wants = append(wants, want)
	}
	return wants, complete && !slices.ContainsFunc(mirror, func(m string) bool { return mirrorServes(constraints, m) }), nil
}

// mirrorServes reports whether the program needs this provider; init chooses its version.
func mirrorServes(needed map[providers.Address][]string, name string) bool {
	for a := range needed {
		if a.String() == name {
			return true
		}
	}
	return false
}

// systemMirrors are the tools' implied mirrors of the machine, without a configured installation.
var systemMirrors = []string{"/usr/local/share/terraform/plugins", "/usr/share/terraform/plugins"}

// ownMirrors are the implied mirrors in the stack's own directories.
var ownMirrors = []string{"terraform.d/plugins", workspace.HomeDir + "/.terraform.d/plugins", workspace.HomeDir + "/.local/share/terraform", workspace.HomeDir + "/.local/share/opentofu"}

// bringsProviders reports whether the tool finds providers in the stack's own directories.
func (s *providerStep) bringsProviders() bool {
	if len(s.run.Spec.CLIConfig) > 0 && fetch.InstallsProviders(s.run.Spec.CLIConfig) {
		return false
	}
	for i, name := range ownMirrors {
		if i == 0 {
			name = s.site.Space.InModule(name)
		}
		if _, err := s.site.Space.Root.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// machineMirrors are the machine's mirrors. Yuba's mirror, unless empty, replaces the system's.
func (d *downloads) machineMirrors() ([]fetch.Origin, error) {
	if len(d.run.Spec.CLIConfig) > 0 && fetch.InstallsProviders(d.run.Spec.CLIConfig) {
		return nil, nil
	}
	own, err := providers.Mirrored(d.run.Opts.ProviderMirror)
	if err != nil || len(own) > 0 {
		return []fetch.Origin{{Dir: d.run.Opts.ProviderMirror, Providers: own}}, err
	}
	var all []fetch.Origin
	for _, dir := range systemMirrors {
		found, err := providers.Mirrored(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, fetch.Origin{Dir: dir, Providers: found})
	}
	return all, nil
}

func allProviders(origins []fetch.Origin) []string {
	var all []string
	for _, o := range origins {
		all = append(all, o.Providers...)
	}
	return all
}

// parallelFetches limits the providers that a program gets at a time.
const parallelFetches = 4

// getProviders gets the providers from the store, without those that the tool finds on the machine.
func (s *providerStep) getProviders(ctx context.Context, wants []wish) ([]providers.Got, error) {
	waiting, cancel := s.run.Stop.Until(ctx)
	defer cancel()
	all, problems := make([]providers.Got, len(wants)), make([]error, len(wants))
	var group sync.WaitGroup
	places := make(chan struct{}, parallelFetches)
	from := make([]source, len(wants))
	for i, want := range wants {
		from[i] = s.downloads.providerSource(want.Address)
	}
	for i, want := range wants {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			all[i], problems[i] = s.getProvider(waiting, from[i].scope, want.Want, from[i].fetch.Provider)
		})
	}
	group.Wait()
	var got []providers.Got
	for _, g := range all {
		if g.Package != nil {
			got = append(got, g)
			s.providing.packages = append(s.providing.packages, g.Package) // released with the job
		}
	}
	for i, err := range problems {
		if err != nil && !errors.Is(err, providers.ErrLinked) && (!wants[i].optional || waiting.Err() != nil) {
			return nil, s.providerFailure(ctx, wants[i].Want, err)
		}
	}
	s.tellProviders(got)
	return got, nil
}

// getProvider gets a provider. If listing its versions fails, it falls back to the last one used.
func (s *providerStep) getProvider(ctx context.Context, scope *providers.Scope, want providers.Want, fetch providers.Fetcher) (providers.Got, error) {
	got, err := scope.Get(ctx, want, fetch)
	var mismatch *providers.MismatchError
	if err == nil || want.Version != "" || ctx.Err() != nil || errors.As(err, &mismatch) {
		return got, err
	}
	last := scope.Last(ctx, want, fetch)
	if last == nil {
		return got, err
	}
	s.run.Warn("cannot list newer versions of %s, continuing with %s: %v", want.Address.Short(), last.Version, err)
	return providers.Got{Package: last}, nil
}

// providerFailure converts an error into a failure of the run.
func (s *providerStep) providerFailure(ctx context.Context, want providers.Want, err error) error {
	if reason := s.run.Stop.Asked(); reason != "" && errors.Is(err, context.Canceled) {
		return &fault.Failure{Outcome: run.OutcomeCanceled, Err: fmt.Errorf("stopped: %s", reason)}
	}
	if ctx.Err() != nil {
		return &fault.Failure{Outcome: run.OutcomeInterrupted, Err: err}
	}
	var mismatch *providers.MismatchError
	if errors.As(err, &mismatch) {
		return fault.New(run.FailureConfiguration, "%w", err)
	}
	what := want.Version
	if what == "" {
		what = string(want.Constraints)
	}
	return fault.New(fault.DiskClass(err), "get the provider %s: %w", strings.TrimSpace(want.Address.String()+" "+what), err)
}

// tellProviders reports in log and result where the providers came from.
func (s *providerStep) tellProviders(got []providers.Got) {
	if len(got) == 0 {
		return
	}
	use := &run.ProviderUse{}
	var words []string
	for _, g := range got {
		how := "from the store"
		if g.Downloaded {
			how = fmt.Sprintf("downloaded (%s unpacked)", megabytes(g.Size))
			use.Downloads, use.DownloadedBytes = use.Downloads+1, use.DownloadedBytes+g.Size
		} else {
			use.Hits++
		}
		words = append(words, fmt.Sprintf("%s %s %s", g.Address.Short(), g.Version, how))
	}
	s.run.Result.Providers = use
	s.run.Log.Note("Providers: %s", strings.Join(words, ", "))
}

func megabytes(n int64) string {
	if n < 1_000_000 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

// offerProviders puts lock file and CLI configuration in place.
func (s *providerStep) offerProviders(lock *providers.LockFile, got []providers.Got) error {
	w := s.site.Space
	if len(got) == 0 {
		return nil
	}
	changed := false
	names := map[string][]string{}
	for _, g := range got {
		scope := s.downloads.providerScope()
		if s.downloads.ofRegistry(g.Address.Host) {
			scope = s.downloads.ownProviders()
		}
		changed = lock.Complete(g.Package) || changed
		names[scope.Mirror()] = append(names[scope.Mirror()], g.Address.String())
		if err := forgetCopy(w, scope, g.Package); err != nil {
			return err
		}
	}
	if changed {
		if err := w.Write(w.InModule(workspace.LockFileTF), lock.Bytes()); err != nil {
			return err
		}
	}
	plain := s.providing.plainConfig
	if plain == nil {
		var err error
		if plain, err = w.Root.ReadFile(workspace.CLIConfigName); err != nil {
			return fmt.Errorf("read %s: %w", workspace.CLIConfigName, err)
		}
	}
	mirrors, err := s.downloads.machineMirrors()
	if err != nil {
		return err
	}
	places := mirrors
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		places = append(places, fetch.Origin{Dir: dir, Providers: names[dir]})
	}
	config, err := fetch.PlacedConfig(s.run.Spec.CLIConfig, places, s.providing.complete)
	if err != nil {
		return err
	}
	s.providing.openConfig = nil
	if s.providing.complete && len(s.run.Spec.CLIConfig) > 0 {
		if s.providing.openConfig, err = fetch.PlacedConfig(s.run.Spec.CLIConfig, places, false); err != nil {
			return err
		}
	}
	s.providing.plainConfig = plain
	return w.Write(workspace.CLIConfigName, config)
}

// forgetCopy removes an earlier download from the working directory, which the tool would prefer.
func forgetCopy(w *workspace.Workspace, scope *providers.Scope, p *providers.Package) error {
	relative, err := filepath.Rel(scope.Mirror(), p.Dir)
	if err != nil {
		return fmt.Errorf("find %s in the store: %w", p.Address, err)
	}
	name := w.InModule(workspace.ProvidersTF + filepath.ToSlash(relative))
	if info, err := w.Root.Lstat(name); err != nil || !info.IsDir() {
		return nil //nolint:nilerr // nothing reachable is there
	}
	return w.Remove(workspace.ProvidersTF + filepath.ToSlash(relative))
}

// withdrawable reports whether init may succeed without the store: the version chosen here may be
// wrong, modules may need more, or the stack may install in its own way.
func (p *providing) withdrawable() bool {
	return p.plainConfig != nil && (p.chosen || p.openConfig != nil)
}

// withdrawProviders undoes what offerProviders did.
func (s *providerStep) withdrawProviders() error {
	w := s.site.Space
	config := s.providing.plainConfig
	s.providing.plainConfig, s.providing.openConfig, s.providing.complete = nil, nil, false
	s.run.Log.Note("Init: again, without the provider store")
	if err := errors.Join(w.Write(workspace.CLIConfigName, config), w.Remove(workspace.LockFileTF)); err != nil || s.providing.before == nil {
		return err
	}
	return w.Write(w.InModule(workspace.LockFileTF), s.providing.before)
}

// ReleaseProviders releases the packages that the job holds.
func (s *Step) ReleaseProviders() {
	for _, p := range s.providers.providing.packages {
		p.Release()
	}
	s.providers.providing.packages = nil
	s.run.LeaveRegistry()
}
