// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/registry/download"
)

// Names in the store's directory and its scopes.
const (
	stagingName  = "staging"
	trashName    = "trash"
	packagesName = "packages"
	recordsName  = "records"
	answersName  = "answers"
)

// Shared is the scope of packages that were fetched with nothing of a stack's own.
const Shared = "shared"

var plainScope = regexp.MustCompile(`^(shared|own-[0-9a-f]{16})$`)

// Store is a directory of providers. Many goroutines and processes may use it concurrently.
type Store struct {
	dir string
	// Now returns the time; tests replace it.
	Now func() time.Time
	// maxBytes limits a download.
	maxBytes int64
	flights  download.Flights
}

// Open prepares the directory.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir) // links to packages are absolute, and are compared with their paths
	if err != nil {
		return nil, fmt.Errorf("open the store of providers: %w", err)
	}
	s := &Store{dir: dir, Now: time.Now, maxBytes: maxPackageBytes}
	for _, name := range []string{stagingName, trashName} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return nil, fmt.Errorf("open the store of providers: %w", err)
		}
	}
	return s, nil
}

func (s *Store) staging() download.Staging {
	return download.Staging(filepath.Join(s.dir, stagingName))
}

// Scope is the part of the store with packages that were fetched under the same conditions.
type Scope struct {
	store *Store
	Name  string
}

// Scope returns a part of the store: [Shared], or the one for a digest of 16 or more hexadecimal
// digits.
func (s *Store) Scope(digest string) *Scope {
	name := Shared
	if digest != "" {
		name = "own-" + digest[:16]
	}
	return &Scope{store: s, Name: name}
}

func (c *Scope) path(names ...string) string {
	return filepath.Join(append([]string{c.store.dir, c.Name}, names...)...)
}

// Mirror returns the scope's filesystem mirror, which may not exist.
func (c *Scope) Mirror() string { return c.path(packagesName) }

// Package is one version of a provider for this platform.
type Package struct {
	Address
	Version string `json:"version"`
	// Dir is the unpacked directory.
	Dir string `json:"-"`
	// H1 is the hash of its content. Hashes are all hashes that the tool recorded for its release,
	// sorted.
	H1     string   `json:"h1"`
	Hashes []string `json:"hashes"`
	// Size is the size of its files, in bytes.
	Size int64 `json:"size"`
	// Fetched is when it was downloaded, Used when it was last used.
	Fetched time.Time `json:"fetched"`
	Used    time.Time `json:"-"`

	record *os.File
}

// Release gives up a held package, if there is one: it may be removed from now on.
func (p *Package) Release() {
	if p != nil && p.record != nil {
		p.record.Close() //nolint:errcheck // it was only read
		p.record = nil
	}
}

func (c *Scope) packageDir(a Address, version string) string {
	return c.path(packagesName, a.Host, a.Namespace, a.Type, version, platform())
}

func (c *Scope) recordPath(a Address, version string) string {
	return c.path(recordsName, a.Host, a.Namespace, a.Type, version, platform()+".json")
}

// Hold returns an existing package, and prevents its removal until Release. It returns nil if there
// is none.
func (c *Scope) Hold(a Address, version string) (*Package, error) {
	if !plainVersion.MatchString(version) {
		return nil, nil
	}
	path := c.recordPath(a, version)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find %s %s in the store of providers: %w", a, version, err)
	}
	p, err := c.hold(file, a, version)
	if err != nil || p == nil {
		file.Close() //nolint:errcheck // it was only read
		return nil, err
	}
	_ = os.Chtimes(path, time.Time{}, c.store.Now()) // an old time does not hurt the holder
	return p, nil
}

// hold locks the record against removal of the package, and reads it. It returns nil if the package
// was removed meanwhile.
func (c *Scope) hold(file *os.File, a Address, version string) (*Package, error) {
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH); err != nil { //nolint:gosec // descriptors are small
		return nil, fmt.Errorf("hold %s %s in the store of providers: %w", a, version, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the record of %s %s: %w", a, version, err)
	}
	if stat, err := os.Stat(file.Name()); err != nil || !os.SameFile(info, stat) {
		return nil, nil
	}
	p := &Package{}
	if err := json.NewDecoder(file).Decode(p); err != nil || p.Address != a || p.Version != version || p.H1 == "" {
		return nil, nil // treat it as missing: it is fetched again
	}
	p.Dir, p.Used, p.record = c.packageDir(a, version), info.ModTime(), file
	if dir, err := os.Stat(p.Dir); err != nil || !dir.IsDir() {
		return nil, nil
	}
	return p, nil
}

// writeRecord makes a package count.
func (c *Scope) writeRecord(p *Package) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return replaceFile(c.recordPath(p.Address, p.Version), text)
}

// replaceFile replaces a file atomically and durably.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the next collection removes any remains
	}
	return err
}

// Answer returns the version that the tool last chose for constraints, and whether that is recent.
// It is empty if unknown, or if the package is gone.
func (c *Scope) Answer(a Address, constraints Constraints, recent time.Duration) (version string, fresh bool) {
	path := c.answerPath(a, constraints)
	info, err := os.Stat(path)
	if err != nil || info.Size() > 1<<10 {
		return "", false
	}
	text, err := os.ReadFile(path)
	if err != nil || !plainVersion.Match(text) {
		return "", false
	}
	age := c.store.Now().Sub(info.ModTime())
	return string(text), age < recent && age > -recent
}

func (c *Scope) answerPath(a Address, constraints Constraints) string {
	return c.path(answersName, digest(a.String(), string(constraints)))
}

// remember stores the chosen version. If that fails, the tool is simply asked again.
func (c *Scope) remember(a Address, constraints Constraints, version string) {
	path := c.answerPath(a, constraints)
	if err := replaceFile(path, []byte(version)); err == nil {
		_ = os.Chtimes(path, time.Time{}, c.store.Now())
	}
}

// Accepted reports whether the tool has accepted the package for these locked hashes. Use it when
// Compare returns [Doubtful].
func (c *Scope) Accepted(p *Package, hashes []string) bool {
	_, err := os.Stat(c.acceptedPath(p, hashes))
	return err == nil
}

func (c *Scope) acceptedPath(p *Package, hashes []string) string {
	return c.recordPath(p.Address, p.Version) + ".accepted-" + digest(append([]string{p.H1}, hashes...)...)
}
