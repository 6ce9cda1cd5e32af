// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// Runs use files of an earlier init, and an apply those of its plan. Programs can change both in
// between, so the runner lists them, out of reach, with their ctimes, which no program can set.

const (
	InitListName = "init.json"
	MadeName     = "made.json"
	// maxListed is more than honest modules, providers or plans have.
	maxListed = 200_000
)

// ListInit lists the files of init. Without a list the next run starts over.
func (w *Workspace) ListInit() {
	list, err := archive.Scan(filepath.Join(w.Dir, DataDirTF), nil, maxListed)
	if err == nil {
		err = list.Save(filepath.Join(w.Base, InitListName))
	}
	if err != nil {
		_ = w.Root.Remove(InitListName) // a stale list does not match
	}
}

// LocalBackend returns init's record of a local backend in the working directory, or nil. Without
// it init asks whether to move states. It needs no check: programs can change the states, too.
func (w *Workspace) LocalBackend() []byte {
	if !w.Own {
		return nil
	}
	text, err := w.Read(w.InModule(DataDirTF+"/"+StateName), MaxLockFile)
	var known struct {
		Backend struct {
			Type string `json:"type"`
		} `json:"backend"`
	}
	if err != nil || json.Unmarshal(text, &known) != nil || known.Backend.Type != "local" {
		return nil
	}
	return text
}

// RememberBackend restores init's record of the backend.
func (w *Workspace) RememberBackend(dataDir string, local []byte) error {
	if local == nil {
		return nil
	}
	if err := w.Root.MkdirAll(dataDir, 0o755); err != nil {
		return fault.New(fault.DiskClass(err), "prepare the working directory: %w", err)
	}
	return w.Write(path.Join(dataDir, StateName), local)
}

// ForgetUnlessLocal makes init forget the backend, unless local, and a user's choice of workspace.
func (w *Workspace) ForgetUnlessLocal() error {
	if w.LocalBackend() != nil {
		return w.Remove(SelectedName)
	}
	return w.ForgetBackend()
}

// InitList returns the list of files of init, if there is one.
func (w *Workspace) InitList() (archive.Manifest, bool) {
	list, err := archive.LoadManifest(filepath.Join(w.Base, InitListName))
	return list, err == nil
}

// OnlyBackend reports whether only init's record of the backend differs.
func OnlyBackend(d archive.Differences) bool {
	return !slices.ContainsFunc(slices.Concat(d.Added, d.Changed, d.Removed), func(name string) bool {
		return name != StateName && DataDirTF+"/"+name != SelectedName
	})
}

// notProviders reports whether a name in the data directory is outside of the providers.
func notProviders(name string) bool {
	return name != "providers" && !strings.HasPrefix(name, "providers/")
}

// moveProviders moves init's providers to the new tree if they are unchanged, also during init.
// Otherwise init installs them again.
func (w *Workspace) moveProviders(fresh string) {
	if w.Record.Programs {
		return
	}
	list, listed := w.InitList()
	info, err := w.Root.Lstat(w.InModule(DataDirTF))
	if err != nil || !listed || !info.IsDir() {
		return
	}
	differences, err := archive.Compare(filepath.Join(w.Dir, DataDirTF), list, notProviders)
	if err != nil || !differences.None() || w.Root.Mkdir(path.Join(fresh, DataDirTF), 0o755) != nil {
		return
	}
	_ = w.Root.Rename(w.InModule(DataDirTF+"/providers"), path.Join(fresh, DataDirTF, "providers"))
}

// ListMade lists the files, such as archives, that planning made for the apply, without those that
// a tool reads implicitly: source, values and dotfiles.
func (w *Workspace) ListMade(planDigest string) {
	manifest, err := archive.LoadManifest(filepath.Join(w.Base, manifestName))
	if err != nil {
		return
	}
	made, err := archive.Scan(filepath.Join(w.Base, SourceDir), w.keep, maxListed)
	if err != nil {
		return
	}
	maps.DeleteFunc(made.Files, func(name string, _ archive.Stat) bool {
		_, known := manifest.Files[name]
		return known || slices.Contains(w.Record.Placed, path.Join(SourceDir, name)) || readUnasked(name)
	})
	made.Digest = planDigest
	if len(made.Files) == 0 || made.Save(filepath.Join(w.Base, MadeName)) != nil {
		_ = os.Remove(filepath.Join(w.Base, MadeName)) // a stale list is for another plan
	}
}

// readUnasked reports whether a tool reads the file implicitly.
func readUnasked(name string) bool {
	base := strings.TrimSuffix(path.Base(name), ".json")
	ending := path.Ext(base)
	return ending == ".tf" || ending == ".tofu" || ending == ".tfvars" || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") ||
		strings.HasPrefix(name, "terraform.d/") || strings.Contains(name, "/terraform.d")
}

// expectMade adds the unchanged files of a plan to those that its apply expects.
func (w *Workspace) expectMade(plan string, manifest *archive.Manifest) {
	if plan == "" {
		return
	}
	made, err := archive.LoadManifest(filepath.Join(w.Base, MadeName))
	if err == nil && made.Digest == plan {
		maps.Copy(manifest.Files, made.Files)
	}
}
