// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
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
	initListName = "init.json"
	madeName     = "made.json"
	// maxListed is more than honest modules and providers have, or an honest plan makes.
	maxListed = 200_000
)

// listInit lists what init left. Without a list the next run begins with nothing.
func (w *workspace) listInit() {
	list, err := archive.Scan(filepath.Join(w.dir, dataDirTF), nil, maxListed)
	if err == nil {
		err = list.Save(filepath.Join(w.base, initListName))
	}
	if err != nil {
		_ = w.root.Remove(initListName) // one that stays does not fit what is there
	}
}

// checkInit says whether all is as init left it. What a program has changed is removed, so that init begins with nothing.
func (s *site) checkInit() (intact bool, err error) {
	w := s.space
	if w.unpacked || w.record.Module == "" { // nothing is there but providers that were as they had been
		return false, nil
	}
	info, err := w.root.Lstat(w.inModule(dataDirTF))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	list, listed := w.initList()
	if err == nil && listed && info.IsDir() {
		differences, err := archive.Compare(filepath.Join(w.dir, dataDirTF), list, nil)
		if err == nil && differences.None() {
			return true, nil
		}
		if err == nil && onlyBackend(differences) { // settings that came with a run were removed after it
			return false, w.forgetUnlessLocal()
		}
		if err == nil {
			s.task.log.Note("Init: from nothing, because what it left is not as it was: %s", differences)
		}
	}
	local := w.localBackend()
	return false, errors.Join(w.remove(dataDirTF), w.rememberBackend(w.inModule(dataDirTF), local))
}

// localBackend is what init remembers of a backend of the stack's own that keeps its states in the working directory; nil for
// every other. Without it init asks whether to move them. Nothing is lost by not verifying it: the program can change those
// states themselves.
func (w *workspace) localBackend() []byte {
	if !w.own {
		return nil
	}
	text, err := w.read(w.inModule(dataDirTF+"/"+stateName), maxLockFile)
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

// rememberBackend puts back what init remembered.
func (w *workspace) rememberBackend(dataDir string, local []byte) error {
	if local == nil {
		return nil
	}
	if err := w.root.MkdirAll(dataDir, 0o755); err != nil {
		return fault.New(fault.DiskClass(err), "prepare the working directory: %w", err)
	}
	return w.write(path.Join(dataDir, stateName), local)
}

// forgetUnlessLocal has init take the backend as it finds it, and a person's choice of a workspace is forgotten.
func (w *workspace) forgetUnlessLocal() error {
	if w.localBackend() != nil {
		return w.remove(selectedName)
	}
	return w.forgetBackend()
}

func (w *workspace) initList() (archive.Manifest, bool) {
	list, err := archive.LoadManifest(filepath.Join(w.base, initListName))
	return list, err == nil
}

// onlyBackend says whether nothing differs but what init remembers of the backend.
func onlyBackend(d archive.Differences) bool {
	return !slices.ContainsFunc(slices.Concat(d.Added, d.Changed, d.Removed), func(name string) bool {
		return name != stateName && dataDirTF+"/"+name != selectedName
	})
}

// notProviders says of a name below tofu's directory that no provider is there.
func notProviders(name string) bool {
	return name != "providers" && !strings.HasPrefix(name, "providers/")
}

// moveProviders takes the providers that init left to the new tree, unless something has changed them, be it while init was at
// work. Without them init installs them anew.
func (w *workspace) moveProviders(fresh string) {
	if w.record.Programs {
		return
	}
	list, listed := w.initList()
	info, err := w.root.Lstat(w.inModule(dataDirTF))
	if err != nil || !listed || !info.IsDir() {
		return
	}
	differences, err := archive.Compare(filepath.Join(w.dir, dataDirTF), list, notProviders)
	if err != nil || !differences.None() || w.root.Mkdir(path.Join(fresh, dataDirTF), 0o755) != nil {
		return
	}
	_ = w.root.Rename(w.inModule(dataDirTF+"/providers"), path.Join(fresh, dataDirTF, "providers"))
}

// listMade lists the files that planning made and that its apply may need, such as archives. What a tool would read on its
// own, be it source, values or a file with a dot, is not among them.
func (w *workspace) listMade(planDigest string) {
	manifest, err := archive.LoadManifest(filepath.Join(w.base, manifestName))
	if err != nil {
		return
	}
	made, err := archive.Scan(filepath.Join(w.base, sourceDir), w.keep, maxListed)
	if err != nil {
		return
	}
	maps.DeleteFunc(made.Files, func(name string, _ archive.Stat) bool {
		_, known := manifest.Files[name]
		return known || slices.Contains(w.record.Placed, path.Join(sourceDir, name)) || readUnasked(name)
	})
	made.Digest = planDigest
	if len(made.Files) == 0 || made.Save(filepath.Join(w.base, madeName)) != nil {
		_ = os.Remove(filepath.Join(w.base, madeName)) // one that stays is of another plan
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
func (w *workspace) expectMade(plan string, manifest *archive.Manifest) {
	if plan == "" {
		return
	}
	made, err := archive.LoadManifest(filepath.Join(w.base, madeName))
	if err == nil && made.Digest == plan {
		maps.Copy(manifest.Files, made.Files)
	}
}
