// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/pullrequests/command"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

var (
	alice = forge.User{ID: "1", Name: "alice"}
	bob   = forge.User{ID: "2", Name: "bob"}
)

// reviewing is a forge of which a test says what it answers, and counts how often it is asked.
type reviewing struct {
	forge.Forge
	reviews []forge.Review
	changes forge.Changes
	asked   int
	said    string
}

func (f *reviewing) Reviews(context.Context, int) ([]forge.Review, error) {
	f.asked++
	return f.reviews, nil
}

func (f *reviewing) ChangedFiles(context.Context, int, int) (forge.Changes, error) {
	f.asked++
	return f.changes, nil
}

func (f *reviewing) Right(context.Context, forge.User) (forge.Right, error) { return forge.Write, nil }

func (f *reviewing) Limits() forge.Limits { return forge.Limits{Files: 3000} }

func (f *reviewing) SetComment(_ context.Context, _ int, _, text string) (forge.Comment, error) {
	f.said = text
	return forge.Comment{}, nil
}

func (f *reviewing) SetStatus(context.Context, string, forge.Status) error { return nil }

func (f *reviewing) Comments(context.Context, int, time.Time) ([]forge.Comment, error) {
	return nil, nil
}

// oneTree has the same files everywhere, and oneInput the same values of inputs.
type oneTree struct {
	Sources
	source Source
}

func (o oneTree) Base(context.Context, *sourcev1.GitRepository) (*Source, error) {
	return &o.source, nil
}

type oneInput struct{ Plans }

func (oneInput) Inputs(context.Context, types.NamespacedName, string, bool) (string, error) {
	return "inputs", nil
}

// asking is a planned pull request of alice that bob has reviewed, and that alice has asked to apply.
type asking struct {
	*locking
	p        *pull
	s        *stack
	f        *reviewing
	approved []Approval
}

func newAsking(t *testing.T, requirements ...string) *asking {
	t.Helper()
	a := &asking{locking: newLocking(t)}
	a.p = a.locking.pull(7)
	a.p.Of, a.p.Now.Author = "git.example.com/acme/infra", alice
	tree := discover.Tree{Sums: map[string]string{"main.tf": "1"}, Config: func(string) map[string][]byte { return nil }}
	stack := &infrav1.Terraform{}
	stack.Namespace, stack.Name = a.ns, "net"
	shown := time.Now().Add(-time.Hour)
	a.s = &planned{Name: a.key, State: comment.Planned, Digest: "A", Shown: shown, Counts: comment.Counts{Add: 1}, Files: discover.Sum(tree, readBy(stack)), Inputs: "inputs"}
	a.p.Stacks = []*planned{a.s}
	a.f = &reviewing{reviews: []forge.Review{{Who: bob, Verdict: forge.Approved, Commit: a.p.Head, At: shown.Add(time.Minute)}}}
	a.l.forge, a.l.planner = a.f, &yubav1.PullRequestPlanner{}
	a.l.planner.Spec.Apply.When, a.l.planner.Spec.Apply.Requirements = yubav1.ApplyBeforeMerge, requirements
	a.Sources, a.Plans = oneTree{source: Source{Revision: "sha1:" + a.p.Head, Tree: tree}}, oneInput{}
	a.Approve = func(_ context.Context, one Approval) error {
		a.approved = append(a.approved, one)
		return nil
	}
	a.m.pulls[a.p.key()] = a.p
	a.p.wants(alice, shown.Add(2*time.Minute), a.p.Stacks)
	return a
}

// planned is a stack of a pull request: a test has one in the API of that name, too.
type planned = stack

// pass looks at the lock, and at the stack with a pending plan of the head.
func (a *asking) pass(t *testing.T, change func(*infrav1.Terraform)) {
	t.Helper()
	if _, err := a.pin(t.Context(), a.m, a.l, a.p.Head); err != nil {
		t.Fatal(err)
	}
	held, err := a.lock(t.Context(), a.m, a.l, a.p, a.key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	held.Status.LastPlannedRevision = "sha1:" + a.p.Head
	held.Status.Plan.Pending, held.Status.Plan.RunID, held.Status.Plan.ChangesDigest = "plan-7", "run", a.s.Digest
	if change != nil {
		change(held)
	}
	a.m.holds = map[pullKey][]*infrav1.Terraform{a.p.key(): {held}}
	if err := a.applyBefore(t.Context(), a.m, a.l, a.p); err != nil {
		t.Fatal(err)
	}
}

func recorded(o *infrav1.Terraform) {
	o.Status.Plan.Policy = &infrav1.PolicyVerdict{Decision: infrav1.PolicyHeld, NeedsRecordedApprovals: true}
}

func TestAnApplyIsApprovedByThoseWhoApproveNow(t *testing.T) {
	for sentence, c := range map[string]struct {
		requirements []string
		change       func(*asking)
		stack        func(*infrav1.Terraform)
		by           string
		says         string
	}{
		"bob approves what was asked for": {requirements: []string{yubav1.RequireApproved}, by: "bob"},
		"another plan is shown since": {requirements: []string{yubav1.RequireApproved}, says: "Nobody has asked", change: func(a *asking) {
			a.p.replan([]string{"net"})
			a.s.finish(Plan{Digest: "B", Inputs: "inputs", Counts: comment.Counts{Destroy: 1}}, nil)
			a.p.seen(true, time.Now().Add(-time.Minute))
			a.f.reviews[0].At = time.Now() // even if bob has seen it
		}},
		"other files are shown since":  {requirements: []string{yubav1.RequireApproved}, says: "Nobody has asked", change: func(a *asking) { a.s.Files = "others" }},
		"other inputs are shown since": {requirements: []string{yubav1.RequireApproved}, says: "Nobody has asked", change: func(a *asking) { a.s.Inputs = "others" }},
		"bob withdraws":                {requirements: []string{yubav1.RequireApproved}, says: "No member", change: func(a *asking) { a.f.reviews = nil }},
		"bob asks for changes": {requirements: []string{yubav1.RequireApproved}, says: "asked for changes", change: func(a *asking) {
			a.f.reviews[0].Verdict = forge.Rejected
		}},
		"bob asks for changes, and nobody must approve": {says: "asked for changes", change: func(a *asking) { a.f.reviews[0].Verdict = forge.Rejected }},
		"carol owns it": {requirements: []string{yubav1.RequireApproved}, says: "An owner must approve", change: func(a *asking) {
			a.s.Owners, a.l.planner.Spec.Approvals.CodeOwners = [][]string{{"@carol"}}, true
		}},
		"policies refuse it": {requirements: []string{yubav1.RequireApproved}, says: "Policies refuse", change: func(a *asking) {
			a.s.Verdicts = []comment.Verdict{{Refuses: true}}
		}},
		"nobody must approve":                         {by: "alice", change: func(a *asking) { a.f.reviews = nil }},
		"nobody must approve, but policies want it":   {says: "Policies require", change: func(a *asking) { a.f.reviews = nil }, stack: recorded},
		"bob approves, and policies want it recorded": {by: "bob", stack: recorded},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := newAsking(t, c.requirements...)
			if c.change != nil {
				c.change(a)
			}
			a.pass(t, c.stack)
			var by []string
			for _, one := range a.approved {
				for _, who := range one.By {
					by = append(by, who.Name)
				}
				if one.Asked != (c.by == "alice") {
					t.Errorf("approved without a review: %t", one.Asked)
				}
			}
			if strings.Join(by, " ") != c.by || !strings.Contains(a.s.progress.reason, c.says) {
				t.Errorf("approved by %q, want %q; the comment says %q", by, c.by, a.s.progress.reason)
			}
		})
	}
}

func TestARequestEndsWithItsPlan(t *testing.T) {
	a := newAsking(t)
	a.p.replan([]string{"net"})
	if said := a.p.outdated(); said != nil || a.p.wanted(a.s) != nil {
		t.Errorf("while it is planned: %q, %+v", said, a.p.wanted(a.s))
	}
	a.s.finish(Plan{Digest: "A", Inputs: "inputs", Counts: comment.Counts{Add: 1}}, nil)
	if said := a.p.outdated(); said != nil || a.p.wanted(a.s) == nil {
		t.Errorf("after the same plan: %q", said)
	}
	a.p.replan([]string{"net"})
	a.s.finish(Plan{Digest: "B", Inputs: "inputs", Counts: comment.Counts{Add: 1}}, nil)
	if said := a.p.outdated(); len(said) != 1 || a.p.wanted(a.s) != nil || len(a.p.Apply.Wanted) != 0 {
		t.Errorf("after another plan: %q, %+v", said, a.p.Apply)
	}
}

func TestRequestsAreForOneStackEach(t *testing.T) {
	a := newAsking(t)
	other := &stack{Name: a.ns + "/dns", State: comment.Planned, Digest: "C", Shown: time.Now(), Counts: comment.Counts{Add: 1}, Files: "f", Inputs: "i"}
	a.p.Stacks = append(a.p.Stacks, other)
	a.p.wants(bob, time.Now(), []*stack{other})
	if first, second := a.p.wanted(a.s), a.p.wanted(other); first == nil || second == nil || !first.By.Is(alice) || !second.By.Is(bob) {
		t.Errorf("the requests are %+v", a.p.Apply)
	}
}

func TestNothingIsLockedThatWouldBeRefusedNow(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*asking)
		says   string
	}{
		"bob asks for changes":          {func(a *asking) { a.f.reviews[0].Verdict = forge.Rejected }, "asked for changes"},
		"bob withdraws":                 {func(a *asking) { a.f.reviews = nil }, "No member"},
		"the forge does not list files": {func(a *asking) { a.f.changes.Incomplete = true }, "does not list all changed files"},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := newAsking(t, yubav1.RequireApproved, yubav1.RequireUndiverged)
			c.change(a)
			if err := a.applyBefore(t.Context(), a.m, a.l, a.p); err != nil {
				t.Fatal(err)
			}
			if h := a.hold(t); h != nil || !strings.Contains(a.f.said, c.says) || a.p.wanted(a.s) != nil {
				t.Errorf("the hold is %+v, the answer %q", h, a.f.said)
			}
		})
	}
}

func TestWaitingForALockAsksNobody(t *testing.T) {
	a := newAsking(t, yubav1.RequireApproved, yubav1.RequireUndiverged)
	other := a.locking.pull(8)
	if _, err := a.lock(t.Context(), a.m, a.l, other, a.key, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := a.applyBefore(t.Context(), a.m, a.l, a.p); err != nil {
		t.Fatal(err)
	}
	if a.f.asked != 0 || a.s.progress == nil || a.s.progress.blocks != other.key() {
		t.Errorf("the forge is asked %d times, the stack is %+v", a.f.asked, a.s.progress)
	}
	// The other one waits for a stack that this one has: neither ends by itself.
	a.circle(t, other)
	other.wants(bob, time.Now(), other.Stacks) // later than this one
	if err := a.applyBefore(t.Context(), a.m, a.l, a.p); err != nil {
		t.Fatal(err)
	}
	if a.f.said != "" || a.p.wanted(a.s) == nil {
		t.Errorf("the earlier request of a circle ends: %q", a.f.said)
	}
	other.wants(bob, time.Time{}, other.Stacks) // earlier
	if err := a.applyBefore(t.Context(), a.m, a.l, a.p); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.f.said, "unlock") || !strings.Contains(a.f.said, "infra#7, infra#8") || a.p.wanted(a.s) != nil {
		t.Errorf("of a circle, it says %q", a.f.said)
	}
	// What the other one waited for was released in the meantime.
	a.f.said = ""
	a.p.wants(alice, time.Now(), a.p.Stacks)
	delete(a.m.holds, a.p.key())
	if err := a.applyBefore(t.Context(), a.m, a.l, a.p); err != nil {
		t.Fatal(err)
	}
	if a.f.said != "" || a.p.wanted(a.s) == nil {
		t.Errorf("a request ends for a circle that is over: %q", a.f.said)
	}
}

// circle makes another pull request wait for a stack that this one has.
func (a *asking) circle(t *testing.T, other *pull) {
	t.Helper()
	dns := &infrav1.Terraform{}
	dns.Namespace, dns.Name = a.ns, "dns"
	text, err := (&infrav1.PullRequestHold{Planner: a.m.uid, Repository: "infra", Number: a.p.Now.Number, Commit: strings.Repeat("0", 40)}).Annotation()
	if err != nil {
		t.Fatal(err)
	}
	dns.Annotations = map[string]string{infrav1.AnnotationPullRequest: text}
	a.m.holds = map[pullKey][]*infrav1.Terraform{a.p.key(): {dns}}
	other.Stacks = []*stack{{Name: a.ns + "/dns", State: comment.Planned, Digest: "D", Counts: comment.Counts{Add: 1}, Shown: time.Now(), progress: &progress{blocks: a.p.key()}}}
	a.m.pulls[other.key()] = other
}

// changingOwners is a forge whose file CODEOWNERS a test changes.
type changingOwners struct {
	*reviewing
	text string
}

func (f *changingOwners) Limits() forge.Limits {
	return forge.Limits{Files: 3000, Codeowners: []string{"CODEOWNERS"}}
}

func (f *changingOwners) Kind() forge.Kind { return forge.GitHub }

func (f *changingOwners) File(context.Context, string, string) ([]byte, error) {
	return []byte(f.text), nil
}

// TestOwnersAreThoseOfNow: whoever owned the files when they were planned does not approve them once others own them.
func TestOwnersAreThoseOfNow(t *testing.T) {
	for _, at := range []string{"the command", "the lock", "the approval"} {
		for _, change := range []bool{false, true} {
			a := newAsking(t, yubav1.RequireApproved)
			f := &changingOwners{a.f, "* @bob"}
			a.l.forge, a.l.planner.Spec.Approvals.CodeOwners = f, true
			a.Owners = func(_ forge.Kind, _ string, text []byte, _ []string) ([][]string, error) {
				return [][]string{strings.Fields(string(text))[1:]}, nil
			}
			if err := a.own(a.l, a.p, &finding{changed: []string{"main.tf"}}, a.codeowners(t.Context(), a.l, "main", "")()); err != nil {
				t.Fatal(err)
			}
			if change {
				f.text = "* @carol"
			}
			answer, done := "", false
			switch at {
			case "the command":
				var err error
				a.p.Apply = nil
				if answer, done, err = a.applyCommand(t.Context(), a.m, a.l, a.p, alice, time.Now(), command.Command{Verb: command.Apply, Commit: a.p.Head}); err != nil {
					t.Fatal(err)
				}
			case "the lock":
				if err := a.applyBefore(t.Context(), a.m, a.l, a.p); err != nil {
					t.Fatal(err)
				}
				done = a.hold(t) != nil
			case "the approval":
				a.pass(t, nil)
				done = len(a.approved) > 0
			}
			if done == change || a.p.Found == change || change && at == "the command" && !strings.Contains(answer, "CODEOWNERS") {
				t.Errorf("at %s, with a change %t: done %t, stacks known %t, answer %q", at, change, done, a.p.Found, answer)
			}
			if kept := a.p.former; change && at != "the command" && (kept == nil || kept.apply == nil) {
				t.Errorf("at %s, the request is forgotten, although the plans may be the same", at)
			}
		}
	}
}

func TestAReleaseTakesTheApprovalBack(t *testing.T) {
	k := newLocking(t)
	held, err := k.lock(t.Context(), k.m, k.l, k.pull(7), k.key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	before := held.DeepCopy()
	held.Annotations[infrav1.AnnotationApproved] = "plan-7"
	if err := k.Client.Patch(t.Context(), held, reconciling.ChangeOf(before)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.release(t.Context(), k.key, func(*infrav1.PullRequestHold) bool { return true }, false); err != nil {
		t.Fatal(err)
	}
	after, err := k.live(t.Context(), k.key)
	if err != nil {
		t.Fatal(err)
	}
	if h := after.PullRequestHold(); h == nil || !h.Released || after.Annotations[infrav1.AnnotationApproved] != "" {
		t.Errorf("the stack has %v", after.Annotations)
	}
	named := &infrav1.Terraform{}
	named.Spec.ApprovePlan, named.Status.Plan.Pending = "plan-7", "plan-7"
	if void(named); named.Spec.ApprovePlan != "" {
		t.Errorf("approvePlan is still %s", named.Spec.ApprovePlan)
	}
}
