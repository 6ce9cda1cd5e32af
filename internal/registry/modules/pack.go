// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// ErrDamaged means that a package had changed. It has been removed.
var ErrDamaged = errors.New("a package in the store of modules was changed after its download")

var plainName = regexp.MustCompile(`^[0-9a-f]{40}$`)

// record lists the content of a package.
type record struct {
	Entries []entry `json:"entries"`
	Bytes   int64   `json:"bytes"`
}

// entry is a directory, a file or a link. Directories precede their content.
type entry struct {
	Name string      `json:"name"`
	Mode fs.FileMode `json:"mode"`
	Size int64       `json:"size,omitempty"`
	// Sum is the hash of a file, Target the target of a link.
	Sum    string `json:"sum,omitempty"`
	Target string `json:"target,omitempty"`
}

// name derives the package's name from its content.
func (r *record) name() (string, error) {
	text, err := json.Marshal(r)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:40], err
}

func (c *Scope) recordPath(name string) string { return c.path(packagesName, name+".json") }
func (c *Scope) packagePath(name string) string {
	return c.path(packagesName, name)
}

// take copies a downloaded directory into the store and returns the package's name.
func (c *Scope) take(ctx context.Context, from *os.Root, dir string) (string, error) {
	info, err := from.Lstat(filepath.FromSlash(dir))
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory: the source is on this machine", dir)
	}
	source, err := from.OpenRoot(filepath.FromSlash(dir))
	if err != nil {
		return "", err
	}
	defer source.Close() //nolint:errcheck // it was only read
	s, err := c.store.staging().New()
	if err != nil {
		return "", err
	}
	defer s.Remove()
	fresh := filepath.Join(s.Dir, "package")
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return "", err
	}
	to, err := os.OpenRoot(fresh)
	if err != nil {
		return "", err
	}
	defer to.Close() //nolint:errcheck // what was written is read again before it counts
	list, err := takeAll(ctx, source, to)
	if err != nil {
		return "", err
	}
	name, err := list.name()
	if err != nil {
		return "", err
	}
	return name, c.place(fresh, name, list)
}

// takeAll copies the content of a directory, and lists it.
func takeAll(ctx context.Context, from, to *os.Root) (*record, error) {
	list := &record{}
	err := fs.WalkDir(from.FS(), ".", func(name string, found fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		if len(list.Entries) == maxEntries {
			return fmt.Errorf("it has more than %d files", maxEntries)
		}
		info, err := from.Lstat(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		e := entry{Name: name, Mode: info.Mode()}
		switch {
		case info.IsDir():
			err = to.Mkdir(filepath.FromSlash(name), 0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			if e.Target, err = from.Readlink(filepath.FromSlash(name)); err == nil {
				err = to.Symlink(e.Target, filepath.FromSlash(name))
			}
		case info.Mode().IsRegular():
			e.Size, e.Sum, err = copyFile(from, to, name, name, info.Mode(), maxBytes-list.Bytes)
			list.Bytes += e.Size
		default:
			err = fmt.Errorf("%s is neither a file, nor a directory, nor a link", name)
		}
		list.Entries = append(list.Entries, e)
		return err
	})
	return list, err
}

// copyFile copies a regular file and returns its size and hash.
func copyFile(from, to *os.Root, source, dest string, mode fs.FileMode, limit int64) (int64, string, error) {
	in, err := from.OpenFile(filepath.FromSlash(source), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, "", err
	}
	defer in.Close() //nolint:errcheck // it was only read
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, "", errors.Join(fmt.Errorf("%s is not a regular file", source), err)
	}
	out, err := to.OpenFile(filepath.FromSlash(dest), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()|0o600)
	if err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(in, limit+1))
	if err = errors.Join(err, out.Close()); err == nil && size > limit {
		err = fmt.Errorf("%s is larger than allowed, or has grown", source)
	}
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

// place installs a copy as a package, unless the package exists.
func (c *Scope) place(fresh, name string, list *record) error {
	if err := os.MkdirAll(c.path(packagesName), 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(c.recordPath(name)); err == nil {
		return nil
	}
	// A package without a record is unfinished. Another process may place the same package now:
	// either copy works, and both are compared with the record before use.
	if err := filetree.RemovePath(c.packagePath(name)); err != nil {
		return err
	}
	if err := os.Rename(fresh, c.packagePath(name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := writeJSON(c.recordPath(name), list); err != nil {
		return err
	}
	_ = os.Chtimes(c.recordPath(name), time.Time{}, c.store.Now()) // the real time works, too
	c.store.noteGrowth(list.Bytes)
	return nil
}

// readRecord reads the record of a package. It treats a changed record as missing.
func (c *Scope) readRecord(name string) (*record, error) {
	list := &record{}
	if err := readJSON(c.recordPath(name), list); err != nil {
		return nil, err
	}
	if actual, err := list.name(); err != nil || actual != name || len(list.Entries) > maxEntries {
		return nil, errors.Join(errors.New("its record was changed"), err)
	}
	return list, nil
}

// TooLargeError means that a package exceeds the limit of the caller.
type TooLargeError struct{ Bytes int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the module has %d bytes, more than the limit", e.Bytes)
}

// CopyTo copies the package, as it was fetched, into a directory that must not exist, and returns
// the number of bytes. If the package has changed, it returns [ErrDamaged] and leaves a partial
// copy. It does not copy a package above the limit.
func (m *Module) CopyTo(ctx context.Context, to *os.Root, dir string, limit int64) (int64, error) {
	c := m.scope
	list, err := c.readRecord(m.Package)
	if err != nil {
		return 0, c.drop(m.Package, err)
	}
	if list.Bytes > limit {
		return 0, &TooLargeError{list.Bytes}
	}
	return list.Bytes, c.copyAll(ctx, to, dir, m.Package, list)
}

func (c *Scope) copyAll(ctx context.Context, to *os.Root, dir, name string, list *record) error {
	from, err := os.OpenRoot(c.packagePath(name))
	if err != nil {
		return c.drop(name, err)
	}
	defer from.Close()                                             //nolint:errcheck // it was only read
	_ = os.Chtimes(c.recordPath(name), time.Time{}, c.store.Now()) // without it the package only seems older
	if err := to.Mkdir(filepath.FromSlash(dir), 0o755); err != nil {
		return fmt.Errorf("copy a module: %w", err)
	}
	for _, e := range list.Entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !fs.ValidPath(e.Name) || e.Name == "." {
			return c.drop(name, fmt.Errorf("%q is not a valid name in it", e.Name))
		}
		if err := c.copyEntry(from, to, name, path.Join(dir, e.Name), e); err != nil {
			return err
		}
	}
	return nil
}

func (c *Scope) copyEntry(from, to *os.Root, name, dest string, e entry) error {
	local := filepath.FromSlash(dest)
	switch {
	case e.Mode.IsDir():
		if err := to.Mkdir(local, e.Mode.Perm()|0o700); err != nil {
			return fmt.Errorf("copy a module: %w", err)
		}
		return nil
	case e.Mode&fs.ModeSymlink != 0:
		if err := to.Symlink(e.Target, local); err != nil {
			return fmt.Errorf("copy a module: %w", err)
		}
		return nil
	}
	info, err := from.Lstat(filepath.FromSlash(e.Name))
	if err != nil {
		return c.drop(name, err)
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size {
		return c.drop(name, fmt.Errorf("%s is missing, or has another size", e.Name))
	}
	_, sum, err := copyFile(from, to, e.Name, dest, e.Mode, e.Size)
	if err != nil {
		return fmt.Errorf("copy a module: %w", err)
	}
	if sum != e.Sum {
		return c.drop(name, fmt.Errorf("%s has other content", e.Name))
	}
	return nil
}

// drop removes a package, its record first.
func (c *Scope) drop(name string, why error) error {
	_ = errors.Join(os.Remove(c.recordPath(name)), filetree.RemovePath(c.packagePath(name))) // without its record it does not count
	return fmt.Errorf("%w: %w", ErrDamaged, why)
}
