// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/registry/download"
)

// Want is a stack's requirement for one provider.
type Want struct {
	Address
	// Version is the required version; empty if the constraints choose.
	Version     string
	Constraints Constraints
	// Locked are the hashes for LockedVersion in the stack's lock file.
	LockedVersion string
	Locked        []string
}

// Fetcher lets the tool install the program in dir below its .terraform/providers, with a lock file
// of what it accepted. The tool must prefer the mirror, which may be empty, for this provider, but
// ask its usual origins which versions exist; without a mirror it uses none. The fetcher ends its
// processes when ctx ends.
type Fetcher func(ctx context.Context, dir, mirror string, a Address) error

// Got is the result of Get.
type Got struct {
	*Package
	// Downloaded is true if this call fetched the package.
	Downloaded bool
}

// Recent is how long an answer is valid. Meanwhile no stack asks the network for versions again.
const Recent = 5 * time.Minute

// Get returns a matching package, held, and fetches it if needed. A *MismatchError says that the
// stack's lock file does not allow it. Other errors come from the fetcher or the disk.
func (c *Scope) Get(ctx context.Context, want Want, fetch Fetcher) (Got, error) {
	version := want.Version
	if version == "" {
		if version = want.Constraints.Exact(); version == "" {
			version, _ = c.freshAnswer(want)
		}
	}
	got, err := c.have(ctx, want, version, fetch)
	if err != nil {
		return Got{}, err
	}
	if err := c.check(ctx, want, got.Package, fetch); err != nil {
		got.Release()
		return Got{}, err
	}
	return got, nil
}

func (c *Scope) freshAnswer(want Want) (string, bool) {
	version, fresh := c.Answer(want.Address, want.Constraints, Recent)
	if !fresh {
		return "", false
	}
	return version, true
}

// Last returns the package that the constraints chose last, or that the lock file names, held; nil
// if there is none. Use it when the network is not available.
func (c *Scope) Last(ctx context.Context, want Want, fetch Fetcher) *Package {
	answered, _ := c.Answer(want.Address, want.Constraints, Recent)
	for _, version := range []string{want.LockedVersion, answered} {
		p, err := c.Hold(want.Address, version)
		if err != nil || p == nil {
			continue
		}
		if c.check(ctx, want, p, fetch) == nil {
			return p
		}
		p.Release()
	}
	return nil
}

// have returns the package of a version, or of the one that the constraints choose if version is
// empty.
func (c *Scope) have(ctx context.Context, want Want, version string, fetch Fetcher) (Got, error) {
	const attempts = 3 // the package can be removed between fetch and hold
	downloaded := false
	for range attempts {
		if version != "" {
			if p, err := c.Hold(want.Address, version); p != nil || err != nil {
				return Got{p, downloaded}, err
			}
		}
		chooses, constraints := version == "", want.Constraints
		if !chooses {
			constraints = Constraints(version)
		}
		took := false // written by the leader only, before the work ends
		err := c.store.once(ctx, digest(c.Name, want.Address.String(), string(constraints), strconv.FormatBool(chooses)), func(ctx context.Context) (err error) {
			took, err = c.fetch(ctx, want.Address, constraints, chooses, fetch)
			return err
		})
		if err != nil {
			return Got{}, err
		}
		downloaded = downloaded || took
		if chooses {
			version, _ = c.Answer(want.Address, constraints, Recent)
		}
	}
	return Got{}, fmt.Errorf("fetch %s: it was removed from the store of providers immediately after the download. Increase the store's limit", want.Address)
}

// fetch lets the tool install a provider and takes it over, unless it came from the store. Another
// process may have done so meanwhile.
func (c *Scope) fetch(ctx context.Context, a Address, constraints Constraints, chooses bool, fetch Fetcher) (took bool, err error) {
	version := string(constraints)
	if chooses {
		version, _ = c.freshAnswer(Want{Address: a, Constraints: constraints})
	}
	if p, err := c.Hold(a, version); p != nil || err != nil {
		p.Release()
		return false, err
	}
	if err := os.MkdirAll(c.Mirror(), 0o755); err != nil {
		return false, fmt.Errorf("fetch %s: %w", a, err)
	}
	staged, err := c.stage(ctx, a, constraints, nil, c.Mirror(), fetch)
	if errors.Is(err, errIncomplete) { // the incomplete package that the tool found is gone now
		staged, err = c.stage(ctx, a, constraints, nil, c.Mirror(), fetch)
	}
	if err != nil {
		return false, err
	}
	defer staged.Remove()
	if !staged.linked {
		if err := c.take(staged.pkg); err != nil {
			return false, err
		}
	}
	if chooses {
		c.remember(a, constraints, staged.pkg.Version)
	}
	return !staged.linked, nil
}

// check compares a package with the lock file. In doubt it lets the tool install the package with
// that lock file.
func (c *Scope) check(ctx context.Context, want Want, p *Package, fetch Fetcher) error {
	if want.LockedVersion != p.Version {
		return nil // another version has other hashes
	}
	switch p.Compare(want.Locked) {
	case Fits:
		return nil
	case Refused:
		return &MismatchError{Package: p, Expected: want.Locked}
	case Doubtful:
	}
	if c.Accepted(p, want.Locked) {
		return nil
	}
	return c.store.once(ctx, digest(append([]string{c.Name, want.Address.String(), p.Version}, want.Locked...)...), func(ctx context.Context) error {
		if c.Accepted(p, want.Locked) {
			return nil
		}
		staged, err := c.stage(ctx, p.Address, Constraints(p.Version), want.Locked, "", fetch)
		if err != nil {
			return err
		}
		defer staged.Remove()
		if staged.pkg.H1 != p.H1 {
			return &MismatchError{Package: p, Expected: want.Locked}
		}
		return replaceFile(c.acceptedPath(p, want.Locked), nil)
	})
}

// staged is a package that the tool has installed outside of the store.
type staged struct {
	*download.Staged
	pkg *Package
	// linked is true if the tool found the package in the store itself: then only its version is
	// known.
	linked bool
}

// stage lets the tool install a provider.
func (c *Scope) stage(ctx context.Context, a Address, constraints Constraints, locked []string, mirror string, fetch Fetcher) (*staged, error) {
	if !plainScope.MatchString(c.Name) {
		return nil, fmt.Errorf("fetch %s: %q is not a valid name of a scope. This is a bug in Yuba", a, c.Name)
	}
	made, err := c.store.staging().New()
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", a, err)
	}
	s, dir := &staged{Staged: made}, made.Dir
	if err := writeProgram(dir, a, constraints, locked); err != nil {
		s.Remove()
		return nil, fmt.Errorf("fetch %s: %w", a, err)
	}
	most := download.Size{Bytes: c.store.maxBytes, Files: 2 * maxPackageFiles}
	if err := download.Within(ctx, dir, most, "provider", func(ctx context.Context) error { return fetch(ctx, dir, mirror, a) }); err != nil {
		s.Remove()
		return nil, err
	}
	if err = c.inspect(s, a); err != nil {
		s.Remove()
		return nil, fmt.Errorf("fetch %s: %w", a, err)
	}
	return s, nil
}

// writeProgram writes a program that requires only this provider.
func writeProgram(dir string, a Address, constraints Constraints, locked []string) error {
	version := ""
	if constraints != "" {
		version = fmt.Sprintf("\n      version = %q", constraints)
	}
	text := fmt.Sprintf("terraform {\n  required_providers {\n    wanted = {\n      source  = %q%s\n    }\n  }\n}\n", a, version)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		return err
	}
	if len(locked) == 0 {
		return nil
	}
	lock := LockFile{Locks: []Lock{{Address: a, Version: string(constraints), Hashes: locked}}}
	return os.WriteFile(filepath.Join(dir, lockFileName), lock.Bytes(), 0o600)
}

const (
	lockFileName  = ".terraform.lock.hcl"
	installedName = ".terraform/providers"
)

// ErrLinked means that the tool did not download a provider but linked to one on this machine.
var ErrLinked = errors.New("the tool did not download it but linked to a copy on this machine")

// errIncomplete means that the tool has linked to an incomplete package.
var errIncomplete = errors.New("the store's copy was incomplete and has been removed. Try again")

// inspect finds out what the tool installed, and verifies that the tool accepted it.
func (c *Scope) inspect(s *staged, a Address) error {
	text, err := os.ReadFile(filepath.Join(s.Dir, lockFileName))
	if err != nil {
		return err
	}
	file, err := ParseLockFile(text)
	if err != nil {
		return err
	}
	lock := file.Find(a)
	if lock == nil {
		return errors.New("the tool's lock file does not have it")
	}
	p := &Package{Address: a, Version: lock.Version, Hashes: lock.Hashes, Fetched: c.store.Now().UTC().Truncate(time.Second)}
	p.Dir = filepath.Join(s.Dir, installedName, a.Host, a.Namespace, a.Type, p.Version, platform())
	s.pkg = p
	info, err := os.Lstat(p.Dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return c.inspectLink(s)
	}
	if p.Size, err = settle(p.Dir); err != nil {
		return err
	}
	if p.H1, err = dirhash.HashDir(p.Dir, "", dirhash.Hash1); err != nil {
		return err
	}
	if !slices.Contains(p.Hashes, p.H1) {
		return fmt.Errorf("the unpacked files have the hash %s, which is not among those that the tool accepted", p.H1)
	}
	return nil
}

// inspectLink verifies that a package that the tool found is in the store, and complete.
func (c *Scope) inspectLink(s *staged) error {
	dir := c.packageDir(s.pkg.Address, s.pkg.Version)
	if target, err := os.Readlink(s.pkg.Dir); err != nil || target != dir {
		return ErrLinked
	}
	held, err := c.Hold(s.pkg.Address, s.pkg.Version)
	if err != nil {
		return err
	}
	if held == nil { // its process died before it wrote the record
		return errors.Join(errIncomplete, c.store.discard(dir))
	}
	held.Release()
	s.linked = true
	return nil
}

// Limits of a package. The largest known ones have several hundred MiB and a handful of files.
const (
	maxPackageFiles = 20_000
	maxPackageBytes = 8 << 30
)

// settle makes the files of a package read-only, syncs them to disk and counts their bytes. It
// refuses everything but files and directories.
func settle(dir string) (size int64, err error) {
	files := 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", entry.Name())
		}
		if files++; files > maxPackageFiles || size > maxPackageBytes {
			return fmt.Errorf("it has more than %d files or %d GiB", maxPackageFiles, maxPackageBytes>>30)
		}
		return settleFile(path, info)
	})
	return size, err
}

func settleFile(path string, info fs.FileInfo) error {
	mode := fs.FileMode(0o444)
	if info.Mode()&0o111 != 0 || strings.HasPrefix(info.Name(), "terraform-provider-") {
		mode = 0o555
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(mode), file.Sync(), file.Close())
}

// take moves a package into the store. If the same one arrives twice, the first wins.
func (c *Scope) take(p *Package) error {
	target := c.packageDir(p.Address, p.Version)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("store %s %s: %w", p.Address, p.Version, err)
	}
	held, err := c.Hold(p.Address, p.Version)
	if held != nil {
		if held.Release(); held.H1 == p.H1 {
			return nil
		}
		return fmt.Errorf("store %s %s: this download differs from an earlier one: %s, and before that %s", p.Address, p.Version, p.H1, held.H1)
	}
	if err != nil {
		return err
	}
	// Without a record it is the remains of a process that died between the two steps.
	if err := c.store.discard(target); err != nil {
		return fmt.Errorf("store %s %s: %w", p.Address, p.Version, err)
	}
	if err := os.Rename(p.Dir, target); err != nil {
		return fmt.Errorf("store %s %s: %w", p.Address, p.Version, err)
	}
	if err := errors.Join(syncDir(filepath.Dir(target)), c.writeRecord(p)); err != nil {
		return fmt.Errorf("store %s %s: %w", p.Address, p.Version, err)
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// discard renames a directory out of the way, then removes it.
func (s *Store) discard(dir string) error {
	trash, err := os.MkdirTemp(filepath.Join(s.dir, trashName), "gone-")
	if err != nil {
		return err
	}
	err = os.Rename(dir, filepath.Join(trash, "package"))
	_ = filetree.RemovePath(trash) // the next collection removes any remains
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
