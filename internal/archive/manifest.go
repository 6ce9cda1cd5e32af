// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// Manifest lists a tree right after extraction. It is stored outside of the tree, out of reach of
// programs that run in it.
type Manifest struct {
	// Digest is the digest of the archive.
	Digest string          `json:"digest"`
	Files  map[string]Stat `json:"files"`
}

// Stat is a file's metadata. It includes the inode's change time, which programs cannot set.
type Stat struct {
	Size  int64  `json:"size"`
	Mode  uint32 `json:"mode"`
	Mtime int64  `json:"mtime"`
	Ctime int64  `json:"ctime"`
	Inode uint64 `json:"inode"`
	IsDir bool   `json:"isDir,omitempty"`
}

// Differences lists names of files, links and directories that differ from the manifest, sorted.
type Differences struct {
	Added, Changed, Removed []string
}

// None reports whether the tree is unchanged.
func (d Differences) None() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) == 0 }

// String returns counts and some names, for logs.
func (d Differences) String() string {
	text := fmt.Sprintf("%d added, %d changed, %d removed", len(d.Added), len(d.Changed), len(d.Removed))
	for _, names := range [][]string{d.Changed, d.Removed, d.Added} {
		if len(names) > 0 {
			return text + ", such as " + names[0]
		}
	}
	return text
}

// maxAdded limits the names in a tree that its manifest lacks.
const maxAdded = 200_000

// Compare lists the changes in the tree at dir since its manifest was made, by metadata only. It
// skips what keep accepts, with everything below. Far more names than in the manifest are an error.
func Compare(dir string, m Manifest, keep func(name string) bool) (Differences, error) {
	return compare(dir, m, keep, maxAdded)
}

func compare(dir string, m Manifest, keep func(name string) bool, most int) (Differences, error) {
	now, err := Scan(dir, keep, len(m.Files)+most)
	if err != nil {
		return Differences{}, fmt.Errorf("compare with the extracted tree: %w", err)
	}
	var d Differences
	for name, stat := range now.Files {
		was, known := m.Files[name]
		switch {
		case !known:
			d.Added = append(d.Added, name)
		case was != stat:
			d.Changed = append(d.Changed, name)
		}
	}
	for name := range m.Files {
		if _, there := now.Files[name]; !there && !kept(name, keep) {
			d.Removed = append(d.Removed, name)
		}
	}
	slices.Sort(d.Added)
	slices.Sort(d.Changed)
	slices.Sort(d.Removed)
	return d, nil
}

func kept(name string, keep func(string) bool) bool {
	for ; keep != nil && name != "."; name = path.Dir(name) {
		if keep(name) {
			return true
		}
	}
	return false
}

// Scan lists a tree, except what keep accepts, with everything below. It refuses a tree that a
// program made too deep, or that has more than most entries, unless most is 0.
func Scan(dir string, keep func(name string) bool, most int) (Manifest, error) {
	m := Manifest{Files: map[string]Stat{}}
	err := filetree.Walk(dir, filetree.Bounds{Entries: int64(most)}, func(name string, st *unix.Stat_t) error {
		if keep != nil && keep(name) {
			return fs.SkipDir
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			// A directory's times change with every file that tofu adds.
			m.Files[name] = Stat{Mode: uint32(st.Mode), IsDir: true} //nolint:unconvert // 16 bits on some systems
			return nil
		}
		m.Files[name] = Stat{
			Size: st.Size, Mode: uint32(st.Mode), Inode: st.Ino, //nolint:unconvert // 16 bits on some systems
			Mtime: unix.TimespecToNsec(st.Mtim), Ctime: unix.TimespecToNsec(st.Ctim),
		}
		return nil
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("list %s: %w", dir, err)
	}
	return m, nil
}

// Rescan updates the manifest of an unchanged tree after a change of owner, which changes its
// times.
func (m *Manifest) Rescan(dir string) error {
	now, err := Scan(dir, nil, 0)
	if err != nil {
		return fmt.Errorf("stat %s: %w", dir, err)
	}
	m.Files = now.Files
	return nil
}

// Save writes the manifest to a file.
func (m Manifest) Save(file string) error {
	content, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("save manifest: %w", err)
	}
	temp := file + ".new"
	err = os.WriteFile(temp, content, 0o600)
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		return fmt.Errorf("save manifest: %w", err)
	}
	return nil
}

// LoadManifest reads a manifest that Save wrote.
func LoadManifest(file string) (Manifest, error) {
	var m Manifest
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &m)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("load manifest: %w", err)
	}
	return m, nil
}
