// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
)

// memories are what is known of all planners.
type memories struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*memory
}

// memory is what is known of one planner. Only its passes use it, except for what the lock guards.
type memory struct {
	name types.NamespacedName
	uid  string
	// links are the connections by the name of the GitRepository.
	links map[string]*link
	// sources are the GitRepositories of the planner, refused the failed connections by their name.
	sources []*sourcev1.GitRepository
	refused map[string]refusal
	pulls   map[pullKey]*pull
	// handled is the last request of a person that was handled.
	handled string
	// wants is when the next pass should be, the zero time for never.
	wants time.Time

	mu    sync.Mutex
	hooks []hook.Event
	ended []ended
	// hookPath and hookSecrets are those of its webhooks.
	hookPath   string
	hookSecret forge.Secret
	hookKinds  []forge.Kind
	// followed names the GitRepositories that the planner follows, also those whose forge cannot be asked; unsure says that
	// the API could not be asked for all of them.
	followed []string
	unsure   bool
	// holds are the stacks that are held for pull requests of this planner.
	holds map[pullKey][]*infrav1.Terraform
	// merged are the stacks of merged pull requests that are not applied yet.
	merged map[string]bool
	// watched are the stacks of merged pull requests whose drift is watched, and whether it was posted.
	watched map[string]bool
}

type pullKey struct {
	source string
	number int
}

func (k pullKey) String() string { return fmt.Sprintf("%s#%d", k.source, k.number) }

// pull is what is known of a pull request. Its exported fields are stored.
type pull struct {
	Source string
	// Of is the identity of the repository that said all of this.
	Of  string
	Now forge.PullRequest
	// Head is the commit that the stacks are of. Found is true once they are known.
	Head  string
	Found bool
	// Base is the branch to merge into that they were found for.
	Base string `json:",omitempty"`
	// Shown is the head that the comment shows, Allowed the one of a fork that a member has allowed.
	Shown, Allowed string
	// Left is why it is not planned, Held who must act first.
	Left, Held string
	Stacks     []*stack
	Problems   []comment.Problem
	// Commented and Status are digests of what the forge has. StatusOf is the commit of the status.
	Commented, Status, StatusOf string
	// Environments are what was said of each environment, at the commit EnvironmentsOf.
	Environments   map[string]string `json:",omitempty"`
	EnvironmentsOf string            `json:",omitempty"`
	// OwnersOf identifies the CODEOWNERS that the owners of the stacks are from.
	OwnersOf string `json:",omitempty"`
	// Read is the time of the newest comment that was read, Done are the comments that were handled.
	Read time.Time
	Done []string
	// Heard is the change of the pull request up to which comments were read.
	Heard time.Time `json:",omitzero"`
	// Approvals are those of Head by a command.
	Approvals []approval
	// Asked says that somebody asked for the plans of the stacks behind Head. Behind is what is known of them.
	Asked  bool    `json:",omitempty"`
	Behind *behind `json:",omitempty"`
	// Merged is set once it is merged.
	Merged *merged

	// Apply is the request to apply Head before the merge, nil for none.
	Apply *applying `json:",omitempty"`
	// Applied and AppliedOf are as Status and StatusOf, for the status of the apply.
	Applied   string `json:",omitempty"`
	AppliedOf string `json:",omitempty"`

	// listen says that there may be new comments, stale that the pull request must be asked for.
	listen, stale bool
	// heardAt is when the comments were first read after that change, settled whether they were read again later.
	heardAt time.Time
	settled bool
	// former is what was approved of Head before its stacks are found anew.
	former *former
	// source is the tree of Head while there are plans of it.
	source *heldSource
	// retry is when to try again after a failure, told when the forge was last told, found when the stacks of Head were found.
	retry, told, found time.Time
	failures           int
	// stored is a digest of the stored record, empty without one.
	stored string
}

// stack is a stack that a pull request changes.
type stack struct {
	Name string
	// Path is the directory of its root module.
	Path    string
	State   comment.State
	Fate    comment.Fate `json:",omitempty"`
	Reason  string       `json:",omitempty"`
	Counts  comment.Counts
	Outputs int    `json:",omitempty"`
	Digest  string `json:",omitempty"`
	// Partial says that Text leaves something out. Shown is since when the comment has all of the plan with that digest:
	// nobody can approve what was not shown.
	Partial  bool              `json:",omitempty"`
	Shown    time.Time         `json:",omitzero"`
	Text     string            `json:",omitempty"`
	Verdicts []comment.Verdict `json:",omitempty"`
	Problems []comment.Problem `json:",omitempty"`
	// Fields are the changed ones of its manifest. Manifest is what it would be; empty if it stays.
	// Elsewhere says that its program is not in the repository.
	Fields    []comment.Field `json:",omitempty"`
	Manifest  []byte          `json:",omitempty"`
	Elsewhere bool            `json:",omitempty"`
	// Environment is that of its new manifest, or of the one that is removed; empty without one.
	Environment string `json:",omitempty"`
	// Files identifies the files that it reads in the head; empty if they are elsewhere.
	Files string `json:",omitempty"`
	// Reads are its planned outputs, which others read.
	Reads Outputs `json:",omitzero"`
	// Inputs identifies the values of inputs that it was planned with.
	Inputs string `json:",omitempty"`
	// Former is the digest of the plan before, and since when it was shown: a review of equal changes still counts.
	Former      string    `json:",omitempty"`
	FormerShown time.Time `json:",omitzero"`
	// Changed are the changed files that it reads, until their owners are known.
	Changed []string `json:"-"`
	// Owners are groups of owners of its changed files, of each of which one must approve.
	Owners [][]string `json:",omitempty"`
	// Via names the GitRepository that it follows, if that includes the one of the pull request.
	Via string `json:",omitempty"`

	// asked says that Via was asked to fetch, after a merge.
	asked  bool
	cancel func()
	// Never says that the stack never applies, whatever is approved. Barred says that its code is not planned at this
	// commit, as spec.programs is Refuse.
	Never  bool `json:",omitempty"`
	Barred bool `json:",omitempty"`
	// progress is that of its apply before the merge, nil without one.
	progress *progress
}

// merged is a merge.
type merged struct {
	At     time.Time
	Commit string
	// Base is the revision of the GitRepository when the merge was seen.
	Base string `json:",omitempty"`
	// Approvers and Objections are those of the planned head.
	Approvers  []forge.User
	Objections []string
	// Void says why approvals do not count for the merge; empty if they do.
	Void string `json:",omitempty"`
	// Watched says that all is over but drift. Said are digests of the statuses of stacks.
	Watched bool              `json:",omitempty"`
	Said    map[string]string `json:",omitempty"`
	// Asked is when the GitRepository was last asked to fetch it, Times how often; Had is the revision that it had then.
	Asked time.Time `json:",omitzero"`
	Times int       `json:",omitempty"`
	Had   string    `json:",omitempty"`
}

// approval is an approval by a command.
type approval struct {
	Who forge.User
	At  time.Time
	// Plans is the digest of the plans that were approved.
	Plans string
}

// ended is a plan that has ended.
type ended struct {
	key   pullKey
	stack *stack
	plan  Plan
	err   error
	// foretold is set instead of stack at the end of the plans of the stacks behind.
	foretold *foretold
}

func (m *memories) get(name types.NamespacedName, uid string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.known[name]; one != nil && one.uid == uid {
		return one
	}
	return nil
}

func (m *memories) add(one *memory) (former *memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[types.NamespacedName]*memory{}
	}
	former = m.known[one.name]
	m.known[one.name] = one
	return former
}

func (m *memories) drop(name types.NamespacedName) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.known[name]
	delete(m.known, name)
	return one
}

func (m *memories) all() []*memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*memory, 0, len(m.known))
	for _, one := range m.known {
		out = append(out, one)
	}
	return out
}

// awaiting are the planners that wait for a stack, or have to post that it drifts, or does no more.
func (m *memories) awaiting(stack string, drifts, known bool) (names []types.NamespacedName) {
	for _, one := range m.all() {
		one.mu.Lock()
		posted, watched := one.watched[stack]
		if one.merged[stack] || watched && known && posted != drifts {
			names = append(names, one.name)
		}
		one.mu.Unlock()
	}
	return names
}

// news takes what others left for the pass.
func (m *memory) news() (hooks []hook.Event, plans []ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	hooks, plans, m.hooks, m.ended = m.hooks, m.ended, nil, nil
	return hooks, plans
}

// maxHooks limits the hooks between two passes. Beyond it, the next pass asks for everything.
const maxHooks = 1000

func (m *memory) leave(e hook.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.hooks) < maxHooks {
		m.hooks = append(m.hooks, e)
	}
}

func (m *memory) end(e ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = append(m.ended, e)
}

// at asks for a pass at a time.
func (m *memory) at(t time.Time) {
	if m.wants.IsZero() || t.Before(m.wants) {
		m.wants = t
	}
}

// next is how long to wait for the next pass.
func (m *memory) next(now time.Time) time.Duration {
	if m.wants.IsZero() {
		return 0
	}
	return max(m.wants.Sub(now), time.Millisecond)
}

// sorted are the pull requests, the newest first.
func (m *memory) sorted() []*pull {
	out := make([]*pull, 0, len(m.pulls))
	for _, p := range m.pulls {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *pull) int {
		if a.Now.Number != b.Now.Number {
			return b.Now.Number - a.Now.Number
		}
		return strings.Compare(a.Source, b.Source)
	})
	return out
}

// stop ends all plans.
func (m *memory) stop() {
	for _, p := range m.pulls {
		p.stop()
	}
}

// stop ends the plans of a pull request. They begin again when it is planned again.
func (p *pull) stop() {
	for _, s := range p.Stacks {
		if s.cancel != nil {
			s.cancel()
			s.cancel, s.State = nil, comment.Waiting
		}
	}
	if p.Behind != nil && p.Behind.cancel != nil {
		p.forgetBehind()
	}
	p.release()
}

// clear forgets the plans of a head.
func (p *pull) clear() {
	p.stop()
	p.Head, p.Found, p.Stacks, p.Problems, p.Held, p.Approvals, p.Apply = "", false, nil, nil, "", nil, nil
	p.Asked, p.Behind, p.former = false, nil, nil
	p.retry, p.failures = time.Time{}, 0
}

func (p *pull) key() pullKey { return pullKey{p.Source, p.Now.Number} }

// numbers are how many plans wait and run.
func (p *pull) numbers() (waiting, running int) {
	for _, s := range p.Stacks {
		switch s.State {
		case comment.Waiting:
			waiting++
		case comment.Running:
			running++
		}
	}
	return waiting, running
}

// shown is since when all plans that can be approved have been shown, the zero time if there are none.
func (p *pull) shown() (at time.Time) {
	for _, s := range p.Stacks {
		if s.Shown.After(at) {
			at = s.Shown
		}
	}
	return at
}

// saw reports whether who said something at a time can have seen these plans. Some forges count in seconds, so that the
// same second is too early; some do not tell the time.
func (p *pull) saw(at time.Time) bool {
	shown := p.shown()
	return !shown.IsZero() && at.After(shown)
}

// seen notes which plans a comment shows.
func (p *pull) seen(whole bool, at time.Time) {
	for _, s := range p.Stacks {
		switch {
		case !whole || s.showable() == "":
			s.Shown = time.Time{}
		case s.Shown.IsZero() && s.Digest == s.Former && !s.FormerShown.IsZero():
			s.Shown = s.FormerShown
		case s.Shown.IsZero():
			s.Shown = at
		}
	}
}

// showable is the digest of the changes if a whole comment has all of them; empty if it has not.
func (s *stack) showable() string {
	if s.Partial || s.State != comment.Planned {
		return ""
	}
	return s.Digest
}

// approvable is the digest of the changes that an approval is about.
func (s *stack) approvable() string {
	if s.Shown.IsZero() {
		return ""
	}
	return s.Digest
}

// latest is the digest of the latest plan that was shown, and since when.
func (s *stack) latest() (digest string, shown time.Time) {
	if s.Shown.IsZero() {
		return s.Former, s.FormerShown
	}
	return s.Digest, s.Shown
}

// again forgets the plan, so that it is made again.
func (s *stack) again() {
	former, shown := s.latest()
	*s = stack{Name: s.Name, Path: s.Path, Fate: s.Fate, Fields: s.Fields, Manifest: s.Manifest, Elsewhere: s.Elsewhere, Files: s.Files, Via: s.Via, Environment: s.Environment, Never: s.Never, Owners: s.Owners,
		Former: former, FormerShown: shown, progress: s.progress, State: comment.Waiting}
}

func (p *pull) encode() ([]byte, error) { return json.Marshal(p) }
