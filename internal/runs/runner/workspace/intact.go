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

// Runs use what init left for an earlier one, and a plan that waits may need files that planning made. Programs that run in
// between can write to both. So the runner lists them, out of the programs' reach, with the times of the inodes' last changes,
// which no program can set, and compares before it uses them.

const (
	InitListName = "init.json"
	MadeName     = "made.json"
	// maxListed is more than honest modules and providers have, or an honest plan makes.
	maxListed = 200_000
)

// ListInit lists what init left. Without a list the next run begins with nothing.
func (w *Workspace) ListInit() {
	list, err := archive.Scan(filepath.Join(w.Dir, DataDirTF), nil, maxListed)
	if err == nil {
		err = list.Save(filepath.Join(w.Base, InitListName))
	}
	if err != nil {
		_ = w.Root.Remove(InitListName) // one that stays does not fit what is there
	}
}

// LocalBackend is what init remembers of a backend of the stack's own that keeps its states in the working directory; nil for
// every other. Without it init asks whether to move them. Nothing is lost by not verifying it: the program can change those
// states themselves.
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

// RememberBackend puts back what init remembered.
func (w *Workspace) RememberBackend(dataDir string, local []byte) error {
	if local == nil {
		return nil
	}
	if err := w.Root.MkdirAll(dataDir, 0o755); err != nil {
		return fault.New(fault.DiskClass(err), "prepare the working directory: %w", err)
	}
	return w.Write(path.Join(dataDir, StateName), local)
}

// ForgetUnlessLocal has init take the backend as it finds it, and a person's choice of a workspace is forgotten.
func (w *Workspace) ForgetUnlessLocal() error {
	if w.LocalBackend() != nil {
		return w.Remove(SelectedName)
	}
	return w.ForgetBackend()
}

// InitList is the list of what init left, if there is one.
func (w *Workspace) InitList() (archive.Manifest, bool) {
	list, err := archive.LoadManifest(filepath.Join(w.Base, InitListName))
	return list, err == nil
}

// OnlyBackend says whether nothing differs but what init remembers of the backend.
func OnlyBackend(d archive.Differences) bool {
	return !slices.ContainsFunc(slices.Concat(d.Added, d.Changed, d.Removed), func(name string) bool {
		return name != StateName && DataDirTF+"/"+name != SelectedName
	})
}

// notProviders says of a name below tofu's directory that no provider is there.
func notProviders(name string) bool {
	return name != "providers" && !strings.HasPrefix(name, "providers/")
}

// moveProviders takes the providers that init left to the new tree, unless something has changed them, be it while init was at
// work. Without them init installs them anew.
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

// ListMade lists the files that planning made and that its apply may need, such as archives. What a tool would read on its
// own, be it source, values or a file with a dot, is not among them.
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
		_ = os.Remove(filepath.Join(w.Base, MadeName)) // one that stays is of another plan
	}
}

// readUnasked says whether a tool reads a file without being told to.
func readUnasked(name string) bool {
	base := strings.TrimSuffix(path.Base(name), ".json")
	ending := path.Ext(base)
	return ending == ".tf" || ending == ".tofu" || ending == ".tfvars" || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") ||
		strings.HasPrefix(name, "terraform.d/") || strings.Contains(name, "/terraform.d")
}

// expectMade adds the files that making a plan made, if they are what they were, to what its apply expects.
func (w *Workspace) expectMade(plan string, manifest *archive.Manifest) {
	if plan == "" {
		return
	}
	made, err := archive.LoadManifest(filepath.Join(w.Base, MadeName))
	if err == nil && made.Digest == plan {
		maps.Copy(manifest.Files, made.Files)
	}
}
