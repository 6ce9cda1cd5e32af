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

// Want is what a stack needs of one provider.
type Want struct {
	Address
	// Version is the one to have; empty when the constraints are to choose.
	Version     string
	Constraints Constraints
	// Locked are the hashes of the package that the stack's lock file has for LockedVersion.
	LockedVersion string
	Locked        []string
}

// Fetcher has the tool install what the program in dir requires, below its .terraform/providers, and write down in a lock
// file what it accepted. The tool takes the provider of this address from the mirror, which may be empty, before it asks
// anybody else, but learns from everybody which versions there are; without a mirror there is none to be used. The fetcher
// ends what it started when ctx does.
type Fetcher func(ctx context.Context, dir, mirror string, a Address) error

// Got says how a package was come by.
type Got struct {
	*Package
	// Downloaded is true when it had to be fetched, and it was this call that did.
	Downloaded bool
}

// Recent is how long an answer is good: for so long no stack asks the network once more which versions there are.
const Recent = 5 * time.Minute

// Get returns a package that fits, held, fetching it if need be. A *MismatchError says that the stack's lock file does
// not allow it; any other error is the fetcher's, or one of the disk.
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

// Last is the package that the constraints chose when the tool was last asked, or that the lock file has, held; nil when
// there is none. It is for when nobody can be asked.
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

// have returns the package of a version, or of the one that the constraints choose when it is empty.
func (c *Scope) have(ctx context.Context, want Want, version string, fetch Fetcher) (Got, error) {
	const attempts = 3 // between the end of a fetch and a hold the package could be removed
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
		took := false // written before the work is over, and by the one who leads only
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
	return Got{}, fmt.Errorf("fetch %s: it was removed from the store of providers as soon as it was there. Is the store's limit too small?", want.Address)
}

// fetch has the tool install a provider and takes it over, unless it is the store's own. Another process may have done so
// meanwhile.
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
	if errors.Is(err, errIncomplete) { // the rest that the tool came upon is gone now
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

// check compares a package with the lock file. In doubt the tool is asked to install it by that lock file.
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
	// linked is true when the tool found the package in the store itself: only its version is known then.
	linked bool
}

// stage has the tool install a provider.
func (c *Scope) stage(ctx context.Context, a Address, constraints Constraints, locked []string, mirror string, fetch Fetcher) (*staged, error) {
	if !plainScope.MatchString(c.Name) {
		return nil, fmt.Errorf("fetch %s: %q is not the name of a scope. This is a bug in Yuba", a, c.Name)
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

// writeProgram writes a program that requires one provider and nothing else.
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

// ErrLinked says that the tool did not download a provider but linked to one that is on the machine already.
var ErrLinked = errors.New("the tool has not downloaded it but linked to where it is")

// errIncomplete says that the tool has linked to what is no package.
var errIncomplete = errors.New("what the store has of it is not complete and was removed. Try again")

// inspect finds out what the tool installed, and that it is what the tool accepted.
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
		return fmt.Errorf("what is unpacked has the hash %s, which is not among those that the tool accepted", p.H1)
	}
	return nil
}

// inspectLink is for a package that the tool found: it must be the store's own, and whole.
func (c *Scope) inspectLink(s *staged) error {
	dir := c.packageDir(s.pkg.Address, s.pkg.Version)
	if target, err := os.Readlink(s.pkg.Dir); err != nil || target != dir {
		return ErrLinked
	}
	held, err := c.Hold(s.pkg.Address, s.pkg.Version)
	if err != nil {
		return err
	}
	if held == nil { // the rest of somebody who died before the record was there
		return errors.Join(errIncomplete, c.store.discard(dir))
	}
	held.Release()
	s.linked = true
	return nil
}

// What a package may consist of. The largest that are known have some hundred MiB and a handful of files.
const (
	maxPackageFiles = 20_000
	maxPackageBytes = 8 << 30
)

// settle makes the files of a package read-only and sees to it that they are on the disk, and counts their bytes. What is
// neither a file nor a directory has no place in a package.
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

// take moves a package into the store. Of two who have the same at a time the first one wins.
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
		return fmt.Errorf("store %s %s: what was downloaded now is not what was downloaded before: %s, and before that %s", p.Address, p.Version, p.H1, held.H1)
	}
	if err != nil {
		return err
	}
	// What has no record is the rest of somebody who died between the two steps.
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

// discard moves a directory out of the way at once, and removes it.
func (s *Store) discard(dir string) error {
	trash, err := os.MkdirTemp(filepath.Join(s.dir, trashName), "gone-")
	if err != nil {
		return err
	}
	err = os.Rename(dir, filepath.Join(trash, "package"))
	_ = filetree.RemovePath(trash) // what is left the next collection removes
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
