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
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/download"
)

// Names in the store's directory and its scopes.
const (
	stagingName  = "staging"
	packagesName = "packages"
	answersName  = "answers"
	sharedScope  = "shared"
)

// Recent is how long the result for a version range, a branch or a tag is valid.
const Recent = 10 * time.Minute

// failedFor is how long a failed fetch is not retried.
const failedFor = time.Minute

// Limits of one package and of the store's memory.
const (
	maxEntries  = 50_000
	maxBytes    = 1 << 30
	maxDocument = 16 << 20
	maxFailures = 1000
)

// ErrFailed means that the same fetch failed a moment ago.
var ErrFailed = errors.New("fetching it failed a moment ago")

// Store is a directory of modules. Many goroutines and processes may use it concurrently.
type Store struct {
	dir string
	// Now returns the time; tests replace it.
	Now func() time.Time

	flights download.Flights

	mu     sync.Mutex
	failed map[string]time.Time
	grown  int64
}

// Open prepares the directory.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, stagingName), 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("open the store of modules: %w", err)
	}
	return &Store{dir: dir, Now: time.Now, failed: map[string]time.Time{}}, nil
}

func (s *Store) staging() download.Staging {
	return download.Staging(filepath.Join(s.dir, stagingName))
}

// Clean removes the staged downloads of processes that have ended.
func (s *Store) Clean() error { return s.staging().Clean() }

// Scope is the part of the store with packages that were fetched with the same credentials.
type Scope struct {
	store *Store
	name  string
}

// Scope returns the scope for credentials with this digest, in hexadecimal; for no credentials if
// it is empty.
func (s *Store) Scope(digest string) *Scope {
	if digest == "" {
		return &Scope{s, sharedScope}
	}
	return &Scope{s, "own-" + digest}
}

func (c *Scope) path(names ...string) string {
	return filepath.Join(append([]string{c.store.dir, c.name}, names...)...)
}

// Call is a reference from one module to another.
type Call struct {
	// Tool is the name of the tool. It decides which registry a short source means.
	Tool string
	// Source and Version are as the module writes them.
	Source, Version string
}

// elsewhere matches sources on this machine, and sources with credentials that are not part of a
// scope.
var elsewhere = regexp.MustCompile(`(?i)^(s3|gcs|hg|oci|file)::|^(s3|gcs|hg|oci|file):|^[a-z0-9]+::file:|^/|^~|^[a-z]:\\`)

// Suits reports whether the store accepts modules of such a source.
func (c Call) Suits() bool { return c.Source != "" && !elsewhere.MatchString(c.Source) }

var (
	exactVersion = regexp.MustCompile(`^\s*=?\s*v?(\d+\.\d+\.\d+[0-9A-Za-z.+-]*)\s*$`)
	commitName   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// fixed reports whether the call always leads to this source and version, in the tool's notation.
func (c Call) fixed(source, version string) bool {
	if version != "" {
		exact := exactVersion.FindStringSubmatch(c.Version)
		return exact != nil && exact[1] == version
	}
	_, query, found := strings.Cut(source, "?")
	values, err := url.ParseQuery(query)
	return found && err == nil && strings.HasPrefix(source, "git::") && len(values["ref"]) == 1 && commitName.MatchString(values.Get("ref"))
}

// Module is the result of a call.
type Module struct {
	Answer
	// Downloaded is true if this request fetched the module.
	Downloaded bool
	scope      *Scope
}

// Answer is the stored result of a call.
type Answer struct {
	// Source and Version are in the tool's notation, for its list of modules.
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	// Dir is the module's directory in its package.
	Dir string `json:"dir"`
	// Package names the package.
	Package string `json:"package"`
	// Commit is the commit that a git repository had for the call; otherwise empty.
	Commit string `json:"commit,omitempty"`
	// Fixed marks results that never change. Fetched is when the tool was asked.
	Fixed   bool      `json:"fixed,omitempty"`
	Fetched time.Time `json:"fetched"`
}

// Found is a module that the tool has fetched.
type Found struct {
	Call
	// FoundSource and FoundVersion are in the tool's notation.
	FoundSource, FoundVersion string
	// Package is the directory that the tool created for the download, relative to the directory of
	// the fetch. Dir is the module's directory in it. Both use slashes.
	Package, Dir string
	// Commit is the commit of the git repository, if it is known.
	Commit string
}

// Wish is a request for a module.
type Wish struct {
	Call
	// After is the time that a result which can change must be newer than.
	After time.Time
	// Last is an earlier answer that is acceptable at any age, as long as its package exists; nil
	// for none.
	Last *Answer
	// Fetch lets the tool fetch the module. Resolve asks the repository of an older answer for its
	// commit, which is cheaper: if the commit is the same, nothing is fetched. Resolve may be nil.
	Fetch   Fetcher
	Resolve Resolver
}

// Resolver returns the commit that a git repository has now for the source of an answer. dir is an
// empty directory for its use.
type Resolver func(ctx context.Context, dir string, answer Answer) (commit string, err error)

// Fetcher lets the tool fetch the module of a call, and the modules that it calls, into an empty
// directory, and lists them.
type Fetcher func(ctx context.Context, dir string) ([]Found, error)

// Get returns the module of a call. If the result can change, it is recent and newer than
// Wish.After, unless Wish.Last is acceptable.
func (c *Scope) Get(ctx context.Context, w Wish) (*Module, error) {
	if w.Last != nil && c.holds(*w.Last) {
		return &Module{Answer: *w.Last, scope: c}, nil
	}
	const attempts = 3 // another caller's fetch may have begun too early, or its package may be gone
	key, downloaded := c.Key(w.Call), false
	for range attempts {
		if m := c.have(w.Call, w.After); m != nil {
			m.Downloaded = downloaded
			return m, nil
		}
		if c.store.failedLately(key) {
			return nil, ErrFailed
		}
		took := false // written by the leader only, before the work ends
		err := c.store.once(ctx, key, func(ctx context.Context) error {
			if c.have(w.Call, w.After) != nil || c.renew(ctx, w) {
				return nil
			}
			took = true
			return c.fetch(ctx, w.Fetch)
		})
		if err != nil {
			return nil, err
		}
		downloaded = downloaded || took
	}
	return nil, fmt.Errorf("the module was fetched, but is not in the store of modules")
}

// have returns the known result of a call; nil if there is none, or it is too old.
func (c *Scope) have(call Call, after time.Time) *Module {
	m := &Module{scope: c}
	if err := readJSON(c.path(answersName, c.Key(call)), &m.Answer); err != nil || !c.holds(m.Answer) {
		return nil
	}
	age := c.store.Now().Sub(m.Fetched)
	if !m.Fixed && (age > Recent || age < -Recent || !m.Fetched.After(after)) {
		return nil
	}
	return m
}

// holds reports whether the package of an answer exists.
func (c *Scope) holds(a Answer) bool {
	if !plainName.MatchString(a.Package) || !filepath.IsLocal(a.Dir) {
		return false
	}
	_, err := os.Lstat(c.recordPath(a.Package))
	return err == nil
}

// renew makes an answer recent if the repository still has its commit. On any problem the module is
// fetched instead.
func (c *Scope) renew(ctx context.Context, w Wish) bool {
	var a Answer
	if err := readJSON(c.path(answersName, c.Key(w.Call)), &a); err != nil || w.Resolve == nil || !commitName.MatchString(a.Commit) || !c.holds(a) {
		return false
	}
	asked := c.store.Now()
	s, err := c.store.staging().New()
	if err != nil {
		return false
	}
	defer s.Remove()
	if commit, err := w.Resolve(ctx, s.Dir, a); err != nil || commit != a.Commit {
		return false
	}
	a.Fetched = asked
	return writeJSON(c.path(answersName, c.Key(w.Call)), a) == nil
}

// fetch lets the tool fetch a module, and stores everything that was downloaded.
func (c *Scope) fetch(ctx context.Context, fetch Fetcher) error {
	asked := c.store.Now()
	s, err := c.store.staging().New()
	if err != nil {
		return fmt.Errorf("create a directory to fetch a module to: %w", err)
	}
	defer s.Remove()
	var all []Found
	err = download.Within(ctx, s.Dir, download.Size{Bytes: 2 * maxBytes, Files: 2 * maxEntries}, "module", func(ctx context.Context) (err error) {
		all, err = fetch(ctx, s.Dir)
		return err
	})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	taken := map[string]string{}
	for _, f := range all {
		if taken[f.Package] == "" {
			if taken[f.Package], err = c.take(ctx, root, f.Package); err != nil {
				return fmt.Errorf("store the module: %w", err)
			}
		}
		a := Answer{Source: f.FoundSource, Version: f.FoundVersion, Dir: f.Dir, Package: taken[f.Package], Commit: f.Commit, Fetched: asked, Fixed: f.fixed(f.FoundSource, f.FoundVersion)}
		if err := writeJSON(c.path(answersName, c.Key(f.Call)), a); err != nil {
			return fmt.Errorf("store the module: %w", err)
		}
	}
	return nil
}

// Key names a call in this scope.
func (c *Scope) Key(call Call) string {
	return digest(c.name, call.Tool, call.Source, call.Version)
}

func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:40]
}

func readJSON(path string, into any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("%s exceeds the limit of %d bytes", path, maxDocument)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// writeJSON replaces a document atomically. Readers ignore one that a crash truncated: see have and
// record.
func writeJSON(path string, document any) error {
	text, err := json.Marshal(document)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the next collection removes any remains
	}
	return err
}
