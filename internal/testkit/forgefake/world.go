// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgefake

import (
	"crypto/sha1" //nolint:gosec // ids of commits
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// Self is our own account. Its tokens are in tokens.
const Self = "yuba-bot"

var tokens = map[forgetest.Token]string{forgetest.Full: "token-full-4f1c", forgetest.ReadOnly: "token-read-77aa", forgetest.Wrong: "token-wrong-0b0b"}

var users = map[string]int{Self: 1, forgetest.Alice: 2, forgetest.Bob: 3, forgetest.Mallory: 4}

// size is the number of items in a page.
const size = 2

// files is the number of changed files in a page.
const files = 50

type pull struct {
	number   int
	spec     forgetest.Pull
	head     string
	state    forge.State
	merge    string
	files    []forge.File
	content  map[string]string
	updated  time.Time
	comments []*comment
	reviews  []review
	versions []version
}

type comment struct {
	id               int
	author, text     string
	created, updated time.Time
	version          int
	reactions        []string
}

type review struct {
	who     string
	verdict forge.Verdict
	commit  string
	at      time.Time
}

type version struct {
	commit string
	at     time.Time
}

type status struct {
	forge.Status
	id int
	// state is the forge's name of the result.
	state       string
	annotations int
}

// World is a repository at one forge.
type World struct {
	*httptest.Server
	kind forge.Kind
	// route answers a request whose token is valid.
	route func(w *World, r *request) (int, any)
	// deny answers a request with a wrong token, or one that lacks a scope.
	deny func(out http.ResponseWriter, scope bool)

	lock     sync.Mutex
	name     string
	before   []string
	pulls    []*pull
	statuses map[string][]*status
	last     int
	clock    time.Time
	fault    http.HandlerFunc
	sent     []string
	commits  func() string
	t        testing.TB
}

func newWorld(t testing.TB, kind forge.Kind, name string, route func(w *World, r *request) (int, any), deny func(http.ResponseWriter, bool)) *World {
	w := &World{kind: kind, name: name, route: route, deny: deny, statuses: map[string][]*status{}, t: t, clock: time.Now().Add(-time.Hour).Truncate(time.Second)}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close0)
	return w
}

// Close0 stops the server. Close closes a pull request.
func (w *World) Close0() { w.Server.Close() }

// Fault has all requests answered by a function, until it is nil.
func (w *World) Fault(f http.HandlerFunc) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.fault = f
}

// Sent returns the requests so far: methods and paths.
func (w *World) Sent() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	return slices.Clone(w.sent)
}

// now is a clock that moves with every use, so that everything has its own time.
func (w *World) now() time.Time {
	w.clock = w.clock.Add(time.Second)
	return w.clock.UTC()
}

func (w *World) id() int { w.last++; return w.last }

// Commits has a function make the ids of commits from now on, such as those of a real repository.
func (w *World) Commits(f func() string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.commits = f
}

func (w *World) commit() string {
	if w.commits != nil {
		return w.commits()
	}
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d", w.name, w.id())) //nolint:gosec // the id of a commit
	return hex.EncodeToString(sum[:])
}

// Name implements forgetest.World.
func (w *World) Name() string { return w.name }

// Config implements forgetest.World.
func (w *World) Config(_ testing.TB, token forgetest.Token) forge.Config {
	return forge.Config{Kind: w.kind, Repository: w.URL + "/" + w.address(), API: w.api(), Credentials: forge.Credentials{Token: forge.Secret(tokens[token])}}
}

// Create implements forgetest.World.
func (w *World) Create(_ testing.TB, spec forgetest.Pull) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	p := &pull{number: len(w.pulls) + 1, spec: spec, head: w.commit(), state: forge.Open, content: map[string]string{}}
	p.updated = w.now()
	p.versions = []version{{p.head, p.updated}}
	for _, path := range slices.Sorted(maps.Keys(spec.Write)) {
		action := forge.Added
		if path == "main.tf" || path == "old.tf" || path == "gone.tf" {
			action = forge.Modified
		}
		p.files, p.content[path] = append(p.files, forge.File{Path: path, Action: action}), spec.Write[path]
	}
	for _, path := range spec.Remove {
		p.files = append(p.files, forge.File{Path: path, Action: forge.Removed})
	}
	for old, path := range spec.Rename {
		p.files = append(p.files, forge.File{Path: path, Before: old, Action: forge.Renamed})
	}
	w.pulls = append(w.pulls, p)
	return p.number
}

func (w *World) pull(number int) *pull {
	if number < 1 || number > len(w.pulls) {
		return nil
	}
	return w.pulls[number-1]
}

// change changes a pull request.
func (w *World) change(number int, change func(p *pull)) {
	w.lock.Lock()
	defer w.lock.Unlock()
	p := w.pull(number)
	change(p)
	p.updated = w.now()
}

// Push implements forgetest.World.
func (w *World) Push(_ testing.TB, number int, write map[string]string) (commit string) {
	w.change(number, func(p *pull) {
		commit = w.commit()
		p.head = commit
		p.versions = append(p.versions, version{commit, w.now()})
		maps.Copy(p.content, write)
	})
	return commit
}

// Say implements forgetest.World.
func (w *World) Say(_ testing.TB, number int, who, text string) (id string) {
	w.change(number, func(p *pull) { id = fmt.Sprint(w.say(p, who, text).id) })
	if w.kind == forge.AzureDevOps {
		id += "/1"
	}
	return id
}

func (w *World) say(p *pull, who, text string) *comment {
	now := w.now()
	c := &comment{id: w.id(), author: who, text: text, created: now, updated: now}
	p.comments = append(p.comments, c)
	return c
}

// Review implements forgetest.World.
func (w *World) Review(_ testing.TB, number int, who string, v forge.Verdict) {
	w.change(number, func(p *pull) { p.reviews = append(p.reviews, review{who, v, p.head, w.now()}) })
}

// Merge implements forgetest.World.
func (w *World) Merge(_ testing.TB, number int) (commit string) {
	w.change(number, func(p *pull) { p.state, p.merge = forge.Merged, w.commit(); commit = p.merge })
	return commit
}

// Close implements forgetest.World.
func (w *World) Close(_ testing.TB, number int) {
	w.change(number, func(p *pull) { p.state = forge.Closed })
}

// Rename implements forgetest.World.
func (w *World) Rename(_ testing.TB, name string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.before = append(w.before, w.name)
	w.name = w.name[:strings.LastIndex(w.name, "/")+1] + name
}

// fork is the name of a pull request's head's repository.
func (w *World) source(p *pull) string {
	if p.spec.Fork {
		return p.spec.Author + w.name[strings.LastIndex(w.name, "/"):]
	}
	return w.name
}

// comment finds a comment of any pull request.
func (w *World) comment(id int) (*pull, *comment) {
	for _, p := range w.pulls {
		for _, c := range p.comments {
			if c.id == id {
				return p, c
			}
		}
	}
	return nil, nil
}

// present is the last review of each person.
func (p *pull) present() []review {
	var out []review
	for _, r := range p.reviews {
		out = slices.DeleteFunc(out, func(o review) bool { return o.who == r.who })
		out = append(out, r)
	}
	return out
}

// open are the open pull requests, the last changed ones first.
func (w *World) open() []*pull {
	out := slices.DeleteFunc(slices.Clone(w.pulls), func(p *pull) bool { return p.state != forge.Open })
	slices.SortFunc(out, func(a, b *pull) int { return b.updated.Compare(a.updated) })
	return out
}
