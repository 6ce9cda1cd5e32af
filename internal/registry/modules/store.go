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

// Names in the store's directory and in those of its scopes.
const (
	stagingName  = "staging"
	packagesName = "packages"
	answersName  = "answers"
	sharedScope  = "shared"
)

// Recent is how long it is taken for true what a range of versions, a branch or a tag led to.
const Recent = 10 * time.Minute

// failedFor is how long nobody tries again what could not be fetched.
const failedFor = time.Minute

// Bounds of one package and of what a store remembers.
const (
	maxEntries  = 50_000
	maxBytes    = 1 << 30
	maxDocument = 16 << 20
	maxFailures = 1000
)

// ErrFailed says that the same could not be fetched a moment ago.
var ErrFailed = errors.New("it could not be fetched a moment ago")

// Store is a directory of modules. Many goroutines may use it at once, and several processes.
type Store struct {
	dir string
	// Now tells the time; tests have their own.
	Now func() time.Time

	flights download.Flights

	mu     sync.Mutex
	failed map[string]time.Time
	grown  int64
}

// Open makes the directory ready.
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

// Clean removes what those left behind who were at work when their processes ended.
func (s *Store) Clean() error { return s.staging().Clean() }

// Scope is a part of the store whose packages were fetched with the same credentials.
type Scope struct {
	store *Store
	name  string
}

// Scope returns the part of whoever has credentials of this digest, in hexadecimal digits; without any when it is empty.
func (s *Store) Scope(digest string) *Scope {
	if digest == "" {
		return &Scope{s, sharedScope}
	}
	return &Scope{s, "own-" + digest}
}

func (c *Scope) path(names ...string) string {
	return filepath.Join(append([]string{c.store.dir, c.name}, names...)...)
}

// Call is where a module says that another one comes from.
type Call struct {
	// Tool is the name of the tool: short sources mean another registry for each.
	Tool string
	// Source and Version are as they are written.
	Source, Version string
}

// elsewhere are sources that are on the machine, or whose credentials are found in ways that no scope knows.
var elsewhere = regexp.MustCompile(`(?i)^(s3|gcs|hg|oci|file)::|^(s3|gcs|hg|oci|file):|^[a-z0-9]+::file:|^/|^~|^[a-z]:\\`)

// Suits tells whether the store is for modules of such a source.
func (c Call) Suits() bool { return c.Source != "" && !elsewhere.MatchString(c.Source) }

var (
	exactVersion = regexp.MustCompile(`^\s*=?\s*v?(\d+\.\d+\.\d+[0-9A-Za-z.+-]*)\s*$`)
	commitName   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// fixed tells whether a call that led to a source and version, in the tool's words, always leads there.
func (c Call) fixed(source, version string) bool {
	if version != "" {
		exact := exactVersion.FindStringSubmatch(c.Version)
		return exact != nil && exact[1] == version
	}
	_, query, found := strings.Cut(source, "?")
	values, err := url.ParseQuery(query)
	return found && err == nil && strings.HasPrefix(source, "git::") && len(values["ref"]) == 1 && commitName.MatchString(values.Get("ref"))
}

// Module is what a call leads to.
type Module struct {
	Answer
	// Downloaded is true when it was fetched for whoever asked.
	Downloaded bool
	scope      *Scope
}

// Answer is what is kept of a call.
type Answer struct {
	// Source and Version are the tool's own words, for its list of modules.
	Source  string `json:"source"`
	Version string `json:"version,omitempty"`
	// Dir is where the module is in its package.
	Dir string `json:"dir"`
	// Package names the package.
	Package string `json:"package"`
	// Commit is the one that a git repository had for the call; empty for everything else.
	Commit string `json:"commit,omitempty"`
	// Fixed is true for what never changes, Fetched is when the tool was asked.
	Fixed   bool      `json:"fixed,omitempty"`
	Fetched time.Time `json:"fetched"`
}

// Found is a module that the tool has fetched.
type Found struct {
	Call
	// Source and Version are the tool's own words.
	FoundSource, FoundVersion string
	// Package is the directory that the tool made for the download, Dir that of the module in it. Both have slashes; the
	// first is below the directory of the fetch.
	Package, Dir string
	// Commit is the one that a git repository had, when that is known.
	Commit string
}

// Wish is what is asked for.
type Wish struct {
	Call
	// After is what an answer that may change with time has to be younger than.
	After time.Time
	// Last is an answer of before that does, however old it is, as long as its package is there; nil when none does.
	Last *Answer
	// Fetch has the tool fetch the module. Resolve asks the repository of an older answer for the commit, which costs less: when
	// it is the same one, nothing is fetched. Resolve may be nil.
	Fetch   Fetcher
	Resolve Resolver
}

// Resolver says which commit a git repository has now for what an answer came from. The directory is empty and its own.
type Resolver func(ctx context.Context, dir string, answer Answer) (commit string, err error)

// Fetcher has the tool fetch the module that a call names, and those it calls, into an empty directory, and says what is
// there.
type Fetcher func(ctx context.Context, dir string) ([]Found, error)

// Get returns what a call leads to. Where that may change with time the answer is recent, and younger than the time that is
// wished, unless the last one does.
func (c *Scope) Get(ctx context.Context, w Wish) (*Module, error) {
	if w.Last != nil && c.holds(*w.Last) {
		return &Module{Answer: *w.Last, scope: c}, nil
	}
	const attempts = 3 // somebody else's fetch may have begun too early, or what it brought may be gone
	key, downloaded := c.Key(w.Call), false
	for range attempts {
		if m := c.have(w.Call, w.After); m != nil {
			m.Downloaded = downloaded
			return m, nil
		}
		if c.store.failedLately(key) {
			return nil, ErrFailed
		}
		took := false // written before the work is over, and by the one who leads only
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
	return nil, fmt.Errorf("the module was fetched, and is not in the store of modules all the same")
}

// have is what is known of a call, nil when that is nothing, or too old.
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

// holds says whether the package of an answer is here.
func (c *Scope) holds(a Answer) bool {
	if !plainName.MatchString(a.Package) || !filepath.IsLocal(a.Dir) {
		return false
	}
	_, err := os.Lstat(c.recordPath(a.Package))
	return err == nil
}

// renew makes an answer a new one when the repository still has the commit that it led to. Whatever is in the way of that,
// the module is fetched.
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

// fetch has the tool fetch a module, and keeps all that came.
func (c *Scope) fetch(ctx context.Context, fetch Fetcher) error {
	asked := c.store.Now()
	s, err := c.store.staging().New()
	if err != nil {
		return fmt.Errorf("make a directory to fetch a module to: %w", err)
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
				return fmt.Errorf("keep the module: %w", err)
			}
		}
		a := Answer{Source: f.FoundSource, Version: f.FoundVersion, Dir: f.Dir, Package: taken[f.Package], Commit: f.Commit, Fetched: asked, Fixed: f.fixed(f.FoundSource, f.FoundVersion)}
		if err := writeJSON(c.path(answersName, c.Key(f.Call)), a); err != nil {
			return fmt.Errorf("keep the module: %w", err)
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
		err = fmt.Errorf("%s is over the limit of %d bytes", path, maxDocument)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// writeJSON puts a document in place at once. One that a crash cut is none: see have and record.
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
		_ = os.Remove(file.Name()) // what is left the next collection removes
	}
	return err
}
