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

// Names in the store's directory and in those of its scopes.
const (
	stagingName  = "staging"
	trashName    = "trash"
	packagesName = "packages"
	recordsName  = "records"
	answersName  = "answers"
)

// Shared is the scope of what was fetched with nothing of a stack's own.
const Shared = "shared"

var plainScope = regexp.MustCompile(`^(shared|own-[0-9a-f]{16})$`)

// Store is a directory of providers. Many goroutines and processes may use it at once.
type Store struct {
	dir string
	// Now tells the time; tests have their own.
	Now func() time.Time
	// maxBytes is how large what is being fetched can get.
	maxBytes int64
	flights  download.Flights
}

// Open makes the directory ready.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir) // links to packages are absolute, and are held against their places
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

// Scope is a part of the store whose packages were fetched under the same conditions.
type Scope struct {
	store *Store
	Name  string
}

// Scope returns a part of the store: [Shared], or the one of whoever has a digest of 16 or more hexadecimal digits.
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

// Mirror is the scope's filesystem mirror. It need not exist.
func (c *Scope) Mirror() string { return c.path(packagesName) }

// Package is one version of a provider for this machine's platform.
type Package struct {
	Address
	Version string `json:"version"`
	// Dir is where it is unpacked.
	Dir string `json:"-"`
	// H1 is the hash of its content, Hashes are all that the tool wrote down for its release, sorted.
	H1     string   `json:"h1"`
	Hashes []string `json:"hashes"`
	// Size is what its files take, in bytes.
	Size int64 `json:"size"`
	// Fetched is when it came, Used when it was last handed out.
	Fetched time.Time `json:"fetched"`
	Used    time.Time `json:"-"`

	record *os.File
}

// Release gives up a package that was held, if there is one: from here on it may be removed.
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

// Hold returns a package that is there, nil when it is not, and keeps it from being removed until it is released.
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
		return nil, fmt.Errorf("look for %s %s in the store of providers: %w", a, version, err)
	}
	p, err := c.hold(file, a, version)
	if err != nil || p == nil {
		file.Close() //nolint:errcheck // it was only read
		return nil, err
	}
	_ = os.Chtimes(path, time.Time{}, c.store.Now()) // an old time is no harm to who holds it
	return p, nil
}

// hold locks the record against whoever would remove the package, and reads it. One that was removed meanwhile is none.
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
		return nil, nil // as good as none: it is fetched again
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

// replaceFile puts a file in place at once and for good.
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
		_ = os.Remove(file.Name()) // what is left the next collection removes
	}
	return err
}

// Answer is what was chosen for constraints the last time that the tool was asked, and whether that is recent; empty
// when nobody knows, or the package is gone.
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

// remember keeps which version was chosen. Without that the question is asked once more, no harm.
func (c *Scope) remember(a Address, constraints Constraints, version string) {
	path := c.answerPath(a, constraints)
	if err := replaceFile(path, []byte(version)); err == nil {
		_ = os.Chtimes(path, time.Time{}, c.store.Now())
	}
}

// Accepted says whether the tool has accepted a package where these hashes are locked. It is asked when a comparison is
// [Doubtful].
func (c *Scope) Accepted(p *Package, hashes []string) bool {
	_, err := os.Stat(c.acceptedPath(p, hashes))
	return err == nil
}

func (c *Scope) acceptedPath(p *Package, hashes []string) string {
	return c.recordPath(p.Address, p.Version) + ".accepted-" + digest(append([]string{p.H1}, hashes...)...)
}
