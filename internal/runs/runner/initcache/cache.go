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

// Cache keeps the latest inits by key.
type Cache struct {
	mu    sync.Mutex
	byKey map[string]*Init
	order []string // the oldest first
	size  int
}

// New returns an empty cache.
func New() *Cache { return &Cache{byKey: map[string]*Init{}} }

// Limits; a large program's init takes about 20 KiB.
const (
	maxKeptInits   = 512
	maxKeptBytes   = 16 << 20
	maxKeptOne     = 1 << 20
	maxKeptEntries = 1000
)

// Get returns the init of a key, or nil.
func (k *Cache) Get(key string) *Init {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byKey[key]
}

// Put replaces the init of a key, and drops the oldest ones beyond the limits.
func (k *Cache) Put(key string, kept *Init) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(key)
	k.byKey[key], k.size, k.order = kept, k.size+kept.size, append(k.order, key)
	for len(k.order) > maxKeptInits || k.size > maxKeptBytes {
		k.dropLocked(k.order[0])
	}
}

// Drop removes the init of a key.
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

// Init is the result of init, relative to the root module.
type Init struct {
	lockFile    []byte
	hasLockFile bool
	files       map[string][]byte
	// links are the providers' link targets, by path below the root module.
	links map[string]string
	// stamps are the states of these targets in the mirror.
	stamps map[string]string
	// Warnings are init's warnings about the lock file.
	Warnings []string
	size     int
}

// Current reports whether the mirror is unchanged.
func (k *Init) Current() bool {
	for dir, stamp := range k.stamps {
		if now, err := stampOf(dir); err != nil || now != stamp {
			return false
		}
	}
	return true
}

// Place puts the result into a working directory.
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
	if len(k.files)+len(k.links) == 0 { // tofu takes it for initialized
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

// Read reads the result of init; nil if it contains anything unknown.
func Read(w *workspace.Workspace, mirrors []string) *Init {
	kept := &Init{files: map[string][]byte{}, links: map[string]string{}, stamps: map[string]string{}}
	entries := 0
	err := fs.WalkDir(w.Root.FS(), w.InModule(workspace.DataDirTF), func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // init needed nothing
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
		case strings.HasPrefix(inside, workspace.ProvidersTF) && strings.HasSuffix(inside, ".lock"): // empty, beside each link
			content, err := w.Read(name, 0)
			kept.files[inside] = content
			return err
		}
		return fmt.Errorf("unknown file %s", inside)
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

// takeLink adds a provider link, .terraform/providers/HOST/NAMESPACE/TYPE/VERSION/PLATFORM.
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

// stampOf changes with the mirror's versions of a provider, and the files of the linked one.
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
