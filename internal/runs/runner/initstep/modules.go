// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// moduleStep puts modules of the module store in place.
type moduleStep struct {
	run       *execution.Run
	site      *execution.Site
	program   *supervisor.Supervisor
	downloads *downloads
	// used is what the run uses of the store.
	used moduleUse
}

// The store downloads a remote module once per source, version and credentials, for all stacks.
// Placed and listed as the tool does it, it leaves init nothing to download. Init gets the rest.

// moduleUse is the part of the module store that a job uses.
type moduleUse struct {
	// placed is true if modules are in place, complete if these are all that the program calls.
	placed, complete bool
}

// moduleWalk collects the modules that a program calls.
type moduleWalk struct {
	step   *moduleStep
	from   origins
	reader *module.CallReader
	// root is the root module, relative to the source.
	root string
	// after is when the stack last got its modules; an upgrade asks for newer ones.
	after time.Time
	// had is what the stack got before and keeps, got what it gets now, by call.
	had, got map[string]modules.Answer

	list []modules.Installed
	// packages lists the package of each place.
	packages         []string
	calls            int
	bytes            int64
	hits, downloaded int
	closure          *modules.ClosureReader
	// replacedAt are the positions of replaced modules, each with a dot.
	replacedAt []string
	// elsewhere is true once a remote module was called. why is the reason to leave some to init.
	elsewhere bool
	why       string
}

// placeModules puts the called modules in place. A stack keeps those it has, also after a commit,
// until an upgrade.
func (m *moduleStep) placeModules(ctx context.Context) error {
	m.used = moduleUse{}
	from, why := m.moduleOrigins()
	if from.open == nil && why == "" || !m.run.Spec.Upgrade && m.listsModules() {
		return nil
	}
	source, err := os.OpenRoot(filepath.Join(m.site.Space.Base, workspace.SourceDir))
	if err != nil {
		return fmt.Errorf("read which modules are called: %w", err)
	}
	defer source.Close()
	ctx, cancel := m.run.Stop.Until(ctx)
	defer cancel()
	m.site.Space.Record.Known = nil
	root := path.Clean("./" + strings.TrimPrefix(m.site.Space.Module, workspace.SourceDir))
	walk := &moduleWalk{step: m, from: from, had: m.site.Space.Record.Modules, got: map[string]modules.Answer{}, root: root,
		closure: modules.NewClosureReader(source.FS(), root),
		reader:  module.NewCallReader(source.FS(), module.ReadOptions{Terraform: m.site.Space.Tool.Name == "terraform"})}
	if m.run.Spec.Upgrade {
		walk.after, walk.had = m.site.Space.Record.ModulesAsked, nil
	}
	if err := walk.visit(ctx, walk.root, ".", "", 0); err != nil {
		return m.moduleFailure(err)
	}
	if !walk.elsewhere {
		return nil
	}
	if from.open == nil {
		m.run.Log.Note("Modules: init downloads them in the run, because %s", why)
		return nil
	}
	m.site.Space.Record.ModulesAsked = time.Now()
	return walk.finish()
}

// moduleFailure converts an error into a failure of the run.
func (m *moduleStep) moduleFailure(err error) error {
	if reason := m.run.Stop.Asked(); reason != "" && errors.Is(err, context.Canceled) {
		return &fault.Failure{Outcome: run.OutcomeCanceled, Err: fmt.Errorf("stopped: %s", reason)}
	}
	return fault.New(fault.DiskClass(err), "put the modules in place: %w", err)
}

// listsModules reports whether the tool has listed modules before.
func (m *moduleStep) listsModules() bool {
	_, err := m.site.Space.Root.Lstat(m.site.Space.InModule(workspace.ManifestTF))
	return err == nil
}

// visit adds the calls of the module at key, which is in dir, of the package in pkg.
func (m *moduleWalk) visit(ctx context.Context, dir, pkg, key string, depth int) error {
	if pkg != "." {
		if err := m.closure.Module(ctx, dir); err != nil {
			return err
		}
	}
	calls, err := m.reader.Calls(dir, depth == 0)
	if err != nil {
		m.leave("%v", err)
		return nil
	}
	if calls, err = m.replaced(dir, key, calls); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		place := strings.TrimPrefix(key+"."+name, ".")
		if m.calls++; m.calls > modules.MaxCalls || depth >= modules.MaxDepth {
			m.leave("there are more than %d calls of modules, or more than %d on top of each other", modules.MaxCalls, modules.MaxDepth)
			return nil
		}
		if calls[name].Local() {
			err = m.local(ctx, dir, pkg, place, calls[name], depth)
		} else {
			err = m.remote(ctx, place, calls[name], depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *moduleWalk) leave(format string, args ...any) {
	if m.why == "" {
		m.why = fmt.Sprintf(format, args...)
	}
}

// local adds a module of the caller's package.
func (m *moduleWalk) local(ctx context.Context, dir, pkg, place string, call module.Call, depth int) error {
	inner := path.Join(dir, call.Source)
	if !fs.ValidPath(inner) || strings.ContainsAny(call.Source, "?\\\x00") || pkg != "." && inner != pkg && !strings.HasPrefix(inner, pkg+"/") {
		m.leave("the module %q is outside of its source", place)
		return nil
	}
	relative, err := filepath.Rel(m.root, inner)
	if err != nil {
		return err
	}
	m.list = append(m.list, modules.Installed{Key: place, Source: module.LocalSource(call.Source), Dir: filepath.ToSlash(relative)})
	return m.visit(ctx, inner, pkg, place, depth+1)
}

// remote adds a module from elsewhere.
func (m *moduleWalk) remote(ctx context.Context, place string, written module.Call, depth int) error {
	if !m.elsewhere {
		m.elsewhere = true
		if m.from.open == nil || !m.clear() {
			return nil
		}
	}
	call := modules.Call{Tool: m.step.site.Space.Tool.Name, Source: written.Source, Version: written.Version}
	if !call.Suits() {
		m.leave("the store does not support the source of the module %q", place)
		return nil
	}
	got, err := m.place(ctx, call, workspace.ModulesTF+"/"+place)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if fault.DiskFull(err) {
		return err
	}
	if err != nil {
		m.leave("the module %q: %v", place, err)
		return m.step.site.Space.Remove(workspace.ModulesTF + "/" + place)
	}
	if got.Downloaded {
		m.downloaded++
	} else {
		m.hits++
	}
	if !got.Fixed && m.closure.Found.Moves == "" {
		m.closure.Found.Moves = place
	}
	pkg := path.Join(m.root, workspace.ModulesTF, place)
	if err := m.closure.Package(ctx, pkg); err != nil {
		return err
	}
	dir := path.Join(workspace.ModulesTF, place, got.Dir)
	m.list = append(m.list, modules.Installed{Key: place, Source: got.Source, Version: got.Version, Dir: dir})
	m.packages = append(m.packages, fmt.Sprintf("%q %q %q", place, got.Package, got.Dir))
	return m.visit(ctx, path.Join(m.root, dir), pkg, place, depth+1)
}

// clear makes room for modules. It reports false if, say, a link of the source is in the way.
func (m *moduleWalk) clear() bool {
	w := m.step.site.Space
	if info, err := w.Root.Lstat(w.InModule(workspace.DataDirTF)); err == nil && !info.IsDir() {
		m.leave("%s is not a directory", workspace.DataDirTF)
		return false
	}
	if err := errors.Join(w.Remove(workspace.ModulesTF), w.Root.MkdirAll(w.InModule(workspace.ModulesTF), 0o755)); err != nil {
		m.leave("%v", err)
		return false
	}
	w.Record.Brought = false
	return true
}

// place puts a module in place, from the first origin that has it.
func (m *moduleWalk) place(ctx context.Context, call modules.Call, dir string) (got *modules.Module, err error) {
	ours := m.step.downloads.ofRegistry(moduleHost(call.Source))
	var first error
	for i, from := range m.from.of(call, ours) {
		if got, err = m.placeFrom(ctx, from, call, dir, ours); err == nil {
			return got, nil
		}
		if i == 0 {
			first = err
		}
		if ctx.Err() != nil || fault.DiskFull(err) || !m.from.worthAnother(err, ours) {
			return nil, err
		}
	}
	return nil, first
}

// placeFrom puts a module in place, and fetches it again if the stored one is damaged. Ours is true for
// a module of the server's registry.
func (m *moduleWalk) placeFrom(ctx context.Context, from *origin, call modules.Call, dir string, ours bool) (*modules.Module, error) {
	const attempts = 2
	var problem error
	for range attempts {
		wish := modules.Wish{Call: call, After: m.after, Fetch: m.step.moduleFetcher(from.fetch, call), Resolve: m.step.moduleResolver(from.fetch)}
		key := from.scope.Key(call)
		if last, had := m.had[key]; had {
			wish.Last = &last
		}
		got, err := from.scope.Get(ctx, wish)
		if err != nil {
			return nil, err
		}
		if ours && !got.Downloaded {
			if err := stillGives(ctx, from, call, got.Version); err != nil {
				return nil, err
			}
		}
		m.got[key] = got.Answer
		bytes, err := got.CopyTo(ctx, m.step.site.Space.Root.Root, m.step.site.Space.InModule(dir), modules.MaxTreeBytes-m.bytes)
		m.bytes += bytes
		if !errors.Is(err, modules.ErrDamaged) {
			return got, err
		}
		problem = err
		m.step.run.Opts.Log.Warn("a module is fetched again", "error", err)
		if err := m.step.site.Space.Remove(dir); err != nil {
			return nil, err
		}
	}
	return nil, problem
}

// finish writes the list. An upgrade gets all modules or none from the store.
func (m *moduleWalk) finish() error {
	w := m.step.site.Space
	if m.why != "" {
		m.step.run.Opts.Log.Debug("modules are left to init", "run", m.step.run.ID, "why", m.step.run.Mask.Text(m.why))
	}
	if m.hits+m.downloaded == 0 || m.why != "" && m.step.run.Spec.Upgrade {
		return w.Remove(workspace.ModulesTF)
	}
	list := modules.List{Modules: append([]modules.Installed{{Dir: "."}}, m.list...)}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("list the modules: %w", err)
	}
	if err := w.Write(w.InModule(workspace.ManifestTF), text); err != nil {
		return err
	}
	if w.Root.User != 0 {
		if err := w.Root.GiveAll(w.InModule(workspace.ModulesTF), w.Root.User); err != nil {
			return fault.New(fault.DiskClass(err), "give the modules to their user: %w", err)
		}
	}
	m.step.used, w.Record.Modules = moduleUse{placed: true, complete: m.why == ""}, m.got
	if m.step.used.complete {
		m.closure.Found.Placed = spool.Digest([]byte(strings.Join(m.packages, "\n")))
		w.Record.Known = &workspace.KnownModules{Modules: run.Modules(m.closure.Found), List: list.Digest()}
	}
	var words []string
	if m.hits > 0 {
		words = append(words, fmt.Sprintf("%d from the store", m.hits))
	}
	if m.downloaded > 0 {
		words = append(words, fmt.Sprintf("%d downloaded", m.downloaded))
	}
	m.step.run.Log.Note("Modules: %s", strings.Join(words, ", "))
	if m.step.run.Modules.Crowded() {
		go m.step.run.CollectModules()
	}
	return nil
}

// sameModules reports whether a run that plans only if modules changed may end without a plan. Runs
// that destroy always plan.
func (m *moduleStep) sameModules() bool {
	s, known := &m.run.Spec, m.site.Space.Record.Known
	plans := s.Operation == run.OperationPlan || s.Operation == run.OperationPlanAndApply
	return s.Unless != "" && plans && !s.Destroy && s.Purpose == run.PurposeDeploy && m.used.complete && known != nil && known.Placed == s.Unless
}

// withdrawModules undoes what placeModules did.
func (m *moduleStep) withdrawModules() error {
	m.used, m.site.Space.Record.Known = moduleUse{}, nil
	m.run.Log.Note("Init: again, without the module store")
	return m.site.Space.Remove(workspace.ModulesTF)
}

// tellModules reports the findings about remote modules, unless the modules have changed since.
func (s *Step) tellModules() {
	known := s.site.Space.Record.Known
	if known != nil && known.List != listedModules(s.site.Space) {
		known = nil
	}
	s.site.Space.Record.Known = known
	if known == nil {
		s.run.Result.Modules = nil
		return
	}
	told := known.Modules
	told.Moves, told.Whole, told.World = s.run.Mask.Text(told.Moves), s.run.Mask.Text(told.Whole), slices.Clone(told.World)
	for i := range told.World {
		told.World[i] = s.run.Mask.Text(told.World[i])
	}
	s.run.Result.Modules = &told
}

// listedModules is the digest of the tool's module list, in any order; empty without one.
func listedModules(w *workspace.Workspace) string {
	text, err := w.Read(w.InModule(workspace.ManifestTF), modules.MaxListBytes)
	var list modules.List
	if err != nil || json.Unmarshal(text, &list) != nil {
		return ""
	}
	return list.Digest()
}
