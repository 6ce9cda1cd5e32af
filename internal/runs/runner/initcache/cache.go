// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initcache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Cache keeps the latest inits, by what they depend on.
type Cache struct {
	mu    sync.Mutex
	byKey map[string]*Init
	order []string // the oldest first
	size  int
}

// New returns an empty cache.
func New() *Cache { return &Cache{byKey: map[string]*Init{}} }

// How much is kept: an init of a large program leaves some 20 KiB.
const (
	maxKeptInits   = 512
	maxKeptBytes   = 16 << 20
	maxKeptOne     = 1 << 20
	maxKeptEntries = 1000
)

// Get returns what is kept for the key; nil if nothing is.
func (k *Cache) Get(key string) *Init {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byKey[key]
}

// Put keeps an init in place of an earlier one of the key, and drops the oldest ones beyond the limits.
func (k *Cache) Put(key string, kept *Init) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(key)
	k.byKey[key], k.size, k.order = kept, k.size+kept.size, append(k.order, key)
	for len(k.order) > maxKeptInits || k.size > maxKeptBytes {
		k.dropLocked(k.order[0])
	}
}

// Drop forgets what is kept for the key.
func (k *Cache) Drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(key)
}

func (k *Cache) dropLocked(key string) {
	kept := k.byKey[key]
	if kept == nil {
		return
	}
	delete(k.byKey, key)
	k.size -= kept.size
	for i, other := range k.order {
		if other == key {
			k.order = append(k.order[:i], k.order[i+1:]...)
			return
		}
	}
}

// What init leaves follows from little: the tool, how it is configured, the lock file, which providers there are to
// choose from, and what the modules say they need. Stacks by the hundred agree in all of that. So what one init left is
// kept, in memory, and put into the working directories of the others, which saves them the process.
//
// Kept is only what is known to be all there is: a module whose requirements are plain to see, modules of its own source
// alone, and providers that are links into the mirror. Where anything else is found init runs as ever.

// Init is what init left, relative to the root module.
type Init struct {
	lockFile    []byte
	hasLockFile bool
	files       map[string][]byte
	// links are the providers: where they are, by their place below the root module.
	links map[string]string
	// stamps are what the mirror held of those providers then.
	stamps map[string]string
	// Warnings are what there was to say about the lock file.
	Warnings []string
	size     int
}

// Current reports whether the mirror still has what it had.
func (k *Init) Current() bool {
	for dir, stamp := range k.stamps {
		if now, err := stampOf(dir); err != nil || now != stamp {
			return false
		}
	}
	return true
}

// Place puts what init left into a working directory.
func (k *Init) Place(w *workspace.Workspace) error {
	if err := w.Remove(workspace.DataDirTF); err != nil {
		return err
	}
	for name, content := range k.files {
		if err := makeParent(w, name); err != nil {
			return err
		}
		if err := w.Write(w.InModule(name), content); err != nil {
			return err
		}
	}
	for name, target := range k.links {
		if err := makeParent(w, name); err != nil {
			return err
		}
		if err := w.Root.Symlink(target, w.InModule(name)); err != nil {
			return fault.New(fault.DiskClass(err), "link the provider %s: %w", name, err)
		}
	}
	if len(k.files)+len(k.links) == 0 { // its being there says that init was done
		if err := makeParent(w, workspace.DataDirTF+"/any"); err != nil {
			return err
		}
	}
	if k.hasLockFile {
		return w.Write(w.InModule(workspace.LockFileTF), k.lockFile)
	}
	return w.Remove(workspace.LockFileTF)
}

func makeParent(w *workspace.Workspace, name string) error {
	if err := w.Root.MkdirAll(path.Dir(w.InModule(name)), 0o755); err != nil {
		return fault.New(fault.DiskClass(err), "prepare the working directory: %w", err)
	}
	return nil
}

// Read reads what init left; nil when that is more than is understood here.
func Read(w *workspace.Workspace, mirrors []string) *Init {
	kept := &Init{files: map[string][]byte{}, links: map[string]string{}, stamps: map[string]string{}}
	entries := 0
	err := fs.WalkDir(w.Root.FS(), w.InModule(workspace.DataDirTF), func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was needed
		}
		if entries++; err != nil || entries > maxKeptEntries {
			return errors.Join(err, errors.New("too much"))
		}
		inside := strings.TrimPrefix(name, w.Module+"/")
		switch {
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			return kept.takeLink(w, inside, mirrors)
		case inside == workspace.DataDirTF+"/"+workspace.StateName || inside == workspace.DataDirTF+"/modules/modules.json":
			content, err := w.Read(name, maxKeptOne)
			kept.files[inside], kept.size = content, kept.size+len(content)
			return err
		case strings.HasPrefix(inside, workspace.ProvidersTF) && strings.HasSuffix(inside, ".lock"): // beside each link; it is empty
			content, err := w.Read(name, 0)
			kept.files[inside] = content
			return err
		}
		return fmt.Errorf("%s is there, too", inside)
	})
	if err != nil {
		return nil
	}
	lockFile, err := w.Read(w.InModule(workspace.LockFileTF), workspace.MaxLockFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	kept.lockFile, kept.hasLockFile, kept.size = lockFile, err == nil, kept.size+len(lockFile)
	if kept.size > maxKeptOne {
		return nil
	}
	return kept
}

// takeLink keeps the link to a provider, .terraform/providers/HOST/NAMESPACE/TYPE/VERSION/PLATFORM, which must be of a
// mirror.
func (k *Init) takeLink(w *workspace.Workspace, name string, mirrors []string) error {
	target, err := w.Root.Readlink(w.InModule(name))
	if err != nil {
		return err
	}
	provider, found := strings.CutPrefix(name, workspace.ProvidersTF)
	if !found || strings.Count(provider, "/") != 4 {
		return fmt.Errorf("%s is a link", name)
	}
	for _, mirror := range mirrors {
		if target != filepath.Join(mirror, filepath.FromSlash(provider)) {
			continue
		}
		stamp, err := stampOf(target)
		k.links[name], k.stamps[target], k.size = target, stamp, k.size+4*len(target)
		return err
	}
	return fmt.Errorf("%s is not from a mirror", name)
}

// stampOf changes when the mirror offers something else of a provider than before: the versions that there are to choose
// from, and the files of the one that was chosen.
func stampOf(target string) (string, error) {
	hash := sha256.New()
	version := filepath.Dir(target)
	for _, dir := range []string{filepath.Dir(version), version} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > maxKeptEntries {
			return "", errors.Join(err, fmt.Errorf("list %s", dir))
		}
		for _, entry := range entries {
			fmt.Fprintf(hash, "%q\n", entry.Name())
		}
		hash.Write([]byte{0})
	}
	real, err := filepath.EvalSymlinks(target)
	if err != nil {
		return "", err
	}
	entries := 0
	err = filepath.WalkDir(real, func(name string, entry fs.DirEntry, err error) error {
		if entries++; err != nil || entries > maxKeptEntries {
			return errors.Join(err, fmt.Errorf("list %s", name))
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := json.Marshal([]any{name, info.Mode(), info.Size(), info.ModTime().UnixNano()})
		hash.Write(text)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}
