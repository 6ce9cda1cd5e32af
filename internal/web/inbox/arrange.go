// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/cause"
	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// maxEntries is how many entries a section shows, and an entry folds.
const maxEntries = 100

// maxNamed is how many stacks a folded failure names: its page has all.
const maxNamed = 20

// view is the data of the template "inbox".
type view struct {
	Sections []section
	// New and Old count the failures since and before the person last looked. Now is the time to
	// remember.
	New, Old int
	Now      int64
	// Drifting counts the stacks whose drift is only reported.
	Drifting int
	// Away says what cannot be read now.
	Away []string
}

type section struct {
	ID, Title, Note string
	Entries         []entry
	// More counts the entries that are not shown, All the things that wait, also where they are folded.
	// Address shows all.
	More, All int
	Address   string
}

// entry is one thing that waits for a person.
type entry struct {
	ID, Title, Address string
	// Word is the state, and the class of its mark.
	Word string
	// Text is one line, Rest what follows it.
	Text, Rest    string
	Plan, Summary string
	Since         time.Time
	// Select is the value of the row's checkbox; empty for none.
	Select  string
	Buttons []button
	// Links lead to pages about it.
	Links []site.Link
	// Fold are the entries that it stands for, FoldMore counts those beyond.
	Fold     []entry
	FoldMore int
}

// button is a button with the right that it needs.
type button struct {
	site.Button
	right access.Right
}

// arrange makes the inbox.
func arrange(w *world) *view {
	v := &view{Now: w.now.Unix(), Away: w.away}
	plans, manual, failures := tellApart(w, v)
	v.add(section{ID: "plans", Title: "Plans that wait", All: len(plans), Address: "/stacks?q=status%3Apending%2Crefused"}, foldPlans(plans))
	v.add(section{ID: "held", Title: "Held deletions", Note: "Yuba deletes nothing of these until somebody confirms it."}, held(w))
	v.add(section{ID: "manual", Title: "Waiting for manual work", Note: "Yuba starts no runs of these, or cannot know what a run did, until somebody has looked."}, manualEntries(manual))
	v.add(section{ID: "outages", Title: "Outages", Note: "While a circuit breaker is open, Yuba applies nothing automatically that it concerns."}, outages(w))
	v.New = len(failures)
	v.add(section{ID: "failures", Title: "Failed since you last looked", All: len(failures), Address: "/causes"}, foldFailures(failures))
	return v
}

func (v *view) add(s section, entries []entry) {
	if len(entries) == 0 {
		return
	}
	s.Entries = entries[:min(len(entries), maxEntries)]
	s.More = len(entries) - len(s.Entries)
	if s.All == 0 {
		s.All = len(entries)
	}
	v.Sections = append(v.Sections, s)
}

// what a stack needs.
type what int

const (
	needsNothing what = iota
	needsDecision
	needsHands
	needsLook
	// hadLook: it failed before the person last looked.
	hadLook
	// onlyDrifts: drift is reported, and nothing repairs it.
	onlyDrifts
)

// need says what a stack needs of a person who last looked at the time seen.
func need(t *infrav1.Terraform, seen time.Time) what {
	state := standing.Of(t)
	switch {
	case state == standing.Pending || state == standing.Refused && !rejected(t):
		return needsDecision
	case needsManualWork(t):
		return needsHands
	case state == standing.Drift:
		return onlyDrifts
	case state == standing.Failed && find.Changed(t).After(seen):
		return needsLook
	case state == standing.Failed:
		return hadLook
	}
	return needsNothing
}

// tellApart tells the stacks apart by what they need.
func tellApart(w *world, v *view) (plans, manual, failures []*infrav1.Terraform) {
	for _, t := range w.stacks {
		switch need(t, w.seen) {
		case needsDecision:
			plans = append(plans, t)
		case needsHands:
			manual = append(manual, t)
		case needsLook:
			failures = append(failures, t)
		case hadLook:
			v.Old++
		case onlyDrifts:
			v.Drifting++
		}
	}
	byAge := func(a, b *infrav1.Terraform) int {
		return cmp.Or(plannedAt(a).Compare(plannedAt(b)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}
	slices.SortFunc(plans, byAge)
	slices.SortFunc(manual, byAge)
	slices.SortFunc(failures, func(a, b *infrav1.Terraform) int {
		return cmp.Or(find.Changed(b).Compare(find.Changed(a)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return plans, manual, failures
}

func rejected(t *infrav1.Terraform) bool {
	return t.Annotations[infrav1.AnnotationRejected] == t.Status.Plan.Pending
}

func plannedAt(t *infrav1.Terraform) time.Time {
	if at := t.Status.LastPlanAt; at != nil {
		return at.Time
	}
	return standing.Since(t).Time
}

func title(t *infrav1.Terraform) string { return t.Namespace + "/" + t.Name }

// idOf is the id of an element about an object. Namespaces have no dots.
func idOf(kind, namespace, name string) string { return kind + "-" + namespace + "." + name }

// foldPlans makes one entry of all plans that change the same.
func foldPlans(plans []*infrav1.Terraform) []entry {
	at := map[string]int{}
	var groups [][]*infrav1.Terraform
	for _, t := range plans {
		key := foldOf(t)
		if i, known := at[key]; known && key != "" {
			groups[i] = append(groups[i], t)
			continue
		}
		at[key] = len(groups)
		groups = append(groups, []*infrav1.Terraform{t})
	}
	all := make([]entry, 0, len(groups))
	for _, g := range groups {
		if len(g) == 1 {
			all = append(all, planEntry(g[0]))
		} else {
			all = append(all, planFold(g))
		}
	}
	return all
}

// foldOf identifies what plans have in common that are one entry: the digest of their changes, whether
// they destroy everything, and whether policies refuse them. It is empty for a plan that is alone.
func foldOf(t *infrav1.Terraform) string {
	p := t.Status.Plan
	if p.Pending == "" || p.ChangesDigest == "" {
		return ""
	}
	key := p.ChangesDigest
	if p.IsDestroyPlan {
		key += ",destroy"
	}
	if t.RefusedByPolicy() {
		key += ",refused"
	}
	return key
}

func planEntry(t *infrav1.Terraform) entry {
	row, p := acts.RowOf(t), t.Status.Plan
	e := entry{ID: idOf("waits", t.Namespace, t.Name), Title: title(t), Address: site.Path("stacks", t.Namespace, t.Name), Word: string(standing.Of(t)),
		Text: sentence(t), Plan: p.Pending, Summary: p.Summary, Since: plannedAt(t), Select: row.String(),
		Links: []site.Link{{Text: "with a comment…", Address: confirmAddress(acts.Approve, url.Values{"row": {row.String()}})}}}
	values := []site.Value{{Name: "plan", Value: p.Pending}, {Name: "digest", Value: p.Digest}}
	for _, v := range []acts.Verb{acts.Approve, acts.Reject} {
		b := site.Button{Label: v.Label(), Address: site.Path("stacks", t.Namespace, t.Name, string(v)), Values: values, Key: string(v[:1])}
		if _, cannot := acts.Foresee(v, t); cannot != "" {
			b.Missing = cannot
		}
		switch {
		case v == acts.Reject:
			b.Confirm = fmt.Sprintf("Reject plan %s of %s? It is never applied.", p.Pending, title(t))
		case p.IsDestroyPlan:
			b.Danger, b.Confirm = true, fmt.Sprintf("Destroy everything that %s manages?", title(t))
		case destroys(p.Summary):
			b.Confirm = fmt.Sprintf("Approve plan %s of %s (%s)? It destroys resources.", p.Pending, title(t), p.Summary)
		}
		e.Buttons = append(e.Buttons, button{b, acts.Right(v, t)})
	}
	return e
}

// destroys reports whether a summary of changes, such as "+2 ~1 -3", has resources that are destroyed.
func destroys(summary string) bool {
	_, count, found := strings.Cut(summary, "-")
	return found && !strings.HasPrefix(count, "0")
}

// sentence says why a plan waits.
func sentence(t *infrav1.Terraform) string {
	p := t.Status.Plan
	switch {
	case t.RefusedByPolicy():
		return "Policies refuse it: " + first(p.Policy.Message)
	case p.IsDestroyPlan:
		return "Destroys everything that the stack manages."
	case t.HeldByPolicy():
		return "Policies hold it: " + first(p.Policy.Message)
	case p.HeldBy != "":
		return "Circuit breaker " + p.HeldBy + " holds it: it may repair what an outage has caused."
	case t.Status.TakenOver != nil:
		return "The state is that of a deleted stack, " + t.Status.TakenOver.Name + "."
	case t.BreaksContracts():
		return "It breaks a contract."
	case p.IsDriftDetectionPlan:
		return "Repairs drift."
	}
	return "Waits for approval."
}

// planFold is the entry of several plans that change the same.
func planFold(g []*infrav1.Terraform) entry {
	t := g[0]
	key := foldOf(t)
	e := entry{ID: "same-" + short(t.Status.Plan.ChangesDigest) + strings.TrimPrefix(strings.ReplaceAll(key, ",", "-"), t.Status.Plan.ChangesDigest), Title: fmt.Sprintf("%d stacks with the same changes", len(g)), Word: string(standing.Of(t)), Text: sentence(t),
		Summary: t.Status.Plan.Summary, Since: plannedAt(t), Select: likePrefix + key, FoldMore: max(0, len(g)-maxEntries)}
	for _, member := range g[:min(len(g), maxEntries)] {
		e.Fold = append(e.Fold, planEntry(member))
	}
	for _, v := range []acts.Verb{acts.Approve, acts.Reject} {
		e.Links = append(e.Links, site.Link{Text: fmt.Sprintf("%s all %d…", v.Label(), len(g)), Address: confirmAddress(v, url.Values{"row": {e.Select}})})
	}
	return e
}

func short(digest string) string {
	_, hex, found := strings.Cut(digest, ":")
	if !found {
		hex = digest
	}
	return hex[:min(len(hex), 16)]
}

func confirmAddress(v acts.Verb, values url.Values) string {
	values.Set("verb", string(v))
	return "/inbox/confirm?" + values.Encode()
}

// first is the first line of a message.
func first(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 300
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// rest is what follows the first line, bounded.
func rest(text string) string {
	_, after, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 4000
	if len(after) > most {
		after = strings.ToValidUTF8(after[:most], "") + "…"
	}
	return strings.Trim(after, "\n")
}

// foldFailures makes one entry of all failures with one cause.
func foldFailures(failures []*infrav1.Terraform) []entry {
	groups := cause.Groups(failures, func(t *infrav1.Terraform) (cause.Facts, bool) {
		c := ready(t)
		return cause.Facts{Namespace: t.Namespace, Name: t.Name, Kind: cause.Failure, Reason: c.Reason, Message: c.Message}, true
	})
	all := make([]entry, 0, len(groups))
	for _, g := range groups {
		e := entry{ID: "cause-" + g.Key, Word: string(standing.Failed), Text: strings.TrimSpace(g.Type + " " + g.Text), Since: find.Changed(g.Stacks[0])}
		for _, t := range g.Stacks[:min(len(g.Stacks), maxNamed)] {
			e.Fold = append(e.Fold, entry{ID: idOf("failed", t.Namespace, t.Name), Title: title(t), Address: site.Path("stacks", t.Namespace, t.Name), Word: string(standing.Failed),
				Text: first(ready(t).Message), Rest: rest(ready(t).Message), Since: find.Changed(t), Select: acts.RowOf(t).String()})
		}
		if len(g.Stacks) == 1 {
			all = append(all, e.Fold[0])
			continue
		}
		e.Title, e.FoldMore = fmt.Sprintf("%d stacks with the same failure", len(g.Stacks)), max(0, len(g.Stacks)-maxNamed)
		e.Links = []site.Link{{Text: fmt.Sprintf("Replan all %d…", len(g.Stacks)), Address: confirmAddress(acts.Replan, url.Values{"q": {query.Term("cause", g.Key)}})},
			{Text: "See the stacks", Address: "/stacks?" + url.Values{"q": {query.Term("cause", g.Key)}}.Encode()}}
		all = append(all, e)
	}
	return all
}

func ready(t *infrav1.Terraform) metav1.Condition {
	return conditionOf(t, infrav1.ConditionReady)
}

func conditionOf(t *infrav1.Terraform, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(t.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}
