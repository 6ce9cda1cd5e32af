// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// An interrupted run's record lists the possible leftovers of its apply. The status names the first
// of these resources until a state proves them or a person acknowledges them. Creating one again
// proves nothing: there may be two.

// listsUnproven reports whether a run's record lists anything.
func listsUnproven(r *run.Result) bool {
	return len(r.Unproven)+r.UnprovenMore > 0 || r.UnprovenNote != ""
}

// recordUnproven copies the list of a run's record.
func recordUnproven(obj *infrav1.Terraform, rec run.Record) {
	result := rec.Result
	if !listsUnproven(result) {
		return
	}
	u := obj.Status.Unproven
	if u == nil {
		u = &infrav1.UnprovenStatus{}
		obj.Status.Unproven = u
	}
	if slices.ContainsFunc(u.Runs, func(r infrav1.UnprovenRun) bool { return r.ID == rec.Spec.ID }) {
		return
	}
	named, size := 0, sizeOf(u.Resources...)
	for _, one := range result.Unproven {
		resource := briefly(one, rec.Spec.ID)
		if size += sizeOf(resource); size > maxUnprovenBytes || len(u.Resources) == infrav1.MaxUnproven {
			break
		}
		u.Resources = append(u.Resources, resource)
		named++
	}
	u.Runs = append(u.Runs, infrav1.UnprovenRun{ID: rec.Spec.ID, Named: int64(named), Note: result.UnprovenNote, State: workedOn(rec),
		More: int64(len(result.Unproven) - named + result.UnprovenMore)})
	boundRuns(u)
}

// Limits in bytes: every write of the status carries this, and others choose the lengths.
const (
	maxUnprovenBytes = 128 << 10
	maxUnprovenText  = 400
)

// sizeOf is how many bytes resources take in the status.
func sizeOf(resources ...infrav1.UnprovenResource) int {
	text, err := json.Marshal(resources)
	if err != nil {
		return maxUnprovenBytes // impossible: they are strings and flags
	}
	return len(text)
}

// briefly is the entry of a resource in the status. A digest replaces an address that is too long,
// and an id that is too long counts as unknown.
func briefly(one run.Unproven, id string) infrav1.UnprovenResource {
	r := infrav1.UnprovenResource{Address: one.Address, Match: one.Match, Type: shortened(one.Type()), Object: shortened(one.Called()), Run: id,
		MayExist: one.MayExist, MayBeGone: one.MayBeGone, Certain: one.Certain, Many: one.Many, StateUnread: one.StateUnread,
		Replaces: one.Replaces, ReplacedID: one.ReplacedID, Doubt: one.Doubt()}
	if len(r.Address) > maxUnprovenText {
		r.Address, r.Match = shortened(r.Address), matchOf(&r)
	}
	if len(r.ReplacedID) > maxUnprovenText {
		r.ReplacedID = ""
	}
	return r
}

func shortened(text string) string { return shorten.CutBytes(text, maxUnprovenText) }

// workedOn identifies the state of a run: facts about one state say nothing about another.
func workedOn(rec run.Record) string {
	parts := []string{string(rec.Spec.Backend.Kind), rec.State.Workspace, rec.State.Suffix}
	if rec.Spec.Backend.Kind != run.BackendManaged {
		parts[2] = rec.Spec.Backend.Override
	}
	return digestOf(parts...)
}

func digestOf(parts ...string) string {
	text, _ := json.Marshal(parts) //nolint:errcheck // strings
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// severalStates stands for different states of merged runs: then no state proves anything.
const severalStates = "several"

// boundRuns merges the oldest runs: an apply that is always killed is retried forever. Of merged
// runs only named resources can be proven; a person acknowledges the rest.
func boundRuns(u *infrav1.UnprovenStatus) {
	for len(u.Runs) > infrav1.MaxUnprovenRuns {
		oldest, next := u.Runs[0], &u.Runs[1]
		next.OlderRuns += oldest.OlderRuns + 1
		if next.State != oldest.State {
			next.State = severalStates
		}
		next.More += oldest.More
		next.Note = cmp.Or(oldest.Note, next.Note)
		u.Runs = slices.Delete(u.Runs, 0, 1)
	}
}

// known returns what the status has about a run whose record is damaged.
func (p *pass) known(ref *infrav1.RunReference) run.Record {
	obj := p.obj
	rec := run.Record{Created: times.Of(ref.StartedAt), Announced: true, Spec: run.Spec{ID: ref.ID, Stack: p.stack, Operation: run.Operation(ref.Operation),
		// Without the override, later runs seem to use another state.
		Backend: run.Backend{Kind: backendKind(obj), Override: inputs.Override(obj)}},
		State: stateRefOf(obj)}
	if rec.Spec.Operation == run.OperationApply {
		rec.Spec.Plan = &run.PlanRef{ID: obj.Status.Plan.Pending, RunID: obj.Status.Plan.RunID}
	}
	return rec
}

// weighUnproven removes acknowledged resources and those that the last run proves.
func (d leftovers) weighUnproven(ctx context.Context, p *acted) error {
	u, word, fresh := p.obj.Status.Unproven, p.obj.Annotations[infrav1.AnnotationAcknowledged], p.newWord()
	if u == nil {
		return nil
	}
	before, notes := countUnproven(u), ""
	if fresh {
		notes = acknowledge(u, word, p.taken)
	}
	acknowledged := before - countUnproven(u)
	if p.over != nil && p.over.Result != nil && p.noState == nil {
		proof, err := d.proofOf(ctx, p.stack, p.over)
		if err != nil {
			return err
		}
		proof.weigh(u)
		if err := d.weighMore(ctx, &p.pass, proof); err != nil {
			return err
		}
	}
	if tidyUnproven(u) {
		p.obj.Status.Unproven = nil
	}
	if message := settledMessage(before, acknowledged, before-acknowledged-countUnproven(u), notes); message != "" {
		p.notes = append(p.notes, note{reason: infrav1.ReasonResourcesProven, action: "Look", message: message})
	}
	return nil
}

// settledMessage lists what is settled now; empty if nothing is.
func settledMessage(listed, acknowledged, settled int, notes string) string {
	var parts []string
	if acknowledged+settled > 0 {
		parts = append(parts, fmt.Sprintf("Of %d unproven resources %d were acknowledged, and a later run has settled %d", listed, acknowledged, settled))
	}
	if notes != "" {
		parts = append(parts, "Acknowledged: "+notes)
	}
	return strings.Join(parts, ". ")
}

// newWord reports a new acknowledgement and remembers it. Each value counts once: the id of a later
// run may sort before it.
func (p *pass) newWord() bool {
	mark := ""
	if word := strings.TrimSpace(p.obj.Annotations[infrav1.AnnotationAcknowledged]); word != "" {
		mark = digestOf(word)
	}
	fresh := mark != p.obj.Status.LastHandledAcknowledgement
	p.obj.Status.LastHandledAcknowledgement = mark
	return fresh
}

// acknowledge removes what a person has checked, and returns the notes among it. Runs after the
// named one were not seen, nor was one that has just ended unless it is named.
func acknowledge(u *infrav1.UnprovenStatus, word, ended string) (notes string) {
	upTo, rest, some := strings.Cut(strings.TrimSpace(word), "\n")
	if upTo = strings.TrimSpace(upTo); upTo == "" {
		return ""
	}
	var named []string
	for line := range strings.Lines(rest) {
		named = append(named, strings.TrimSpace(line))
	}
	listed := u.UpTo(upTo)
	seen := func(id string) bool { return listed(id) && (id != ended || id == upTo) }
	u.Resources = slices.DeleteFunc(u.Resources, func(one infrav1.UnprovenResource) bool {
		return seen(one.Run) && (!some || slices.ContainsFunc(named, one.Called))
	})
	if some {
		return ""
	}
	var gone []string
	for i := range u.Runs {
		if r := &u.Runs[i]; seen(r.ID) {
			if r.Note != "" {
				gone = append(gone, r.Note)
			}
			r.More, r.Note = 0, ""
		}
	}
	return strings.Join(gone, ". ")
}

// tidyUnproven removes runs without unproven resources, and says whether none is left.
func tidyUnproven(u *infrav1.UnprovenStatus) bool {
	hasResource := map[string]bool{}
	for _, one := range u.Resources {
		hasResource[u.Runs[u.Entry(one.Run)].ID] = true
	}
	u.Runs = slices.DeleteFunc(u.Runs, func(r infrav1.UnprovenRun) bool {
		return r.More == 0 && r.Note == "" && !hasResource[r.ID]
	})
	return len(u.Runs) == 0
}

func countUnproven(u *infrav1.UnprovenStatus) int {
	n := len(u.Resources)
	for _, r := range u.Runs {
		n += int(r.More)
	}
	return n
}

// describeUnproven reports unproven resources in the status.
func describeUnproven(obj *infrav1.Terraform) {
	if obj.Status.Unproven == nil {
		conditions.Remove(obj, infrav1.ConditionUnproven)
		return
	}
	setCondition(obj, infrav1.ConditionUnproven, metav1.ConditionTrue, infrav1.ReasonApplyCutOff, unprovenMessage(obj))
}

// namedInMessages is how many resources a condition names.
const namedInMessages = 5

// unprovenMessage lists unproven resources and the next step.
func unprovenMessage(obj *infrav1.Terraform) string {
	u, call := obj.Status.Unproven, obj.Name+" -n "+obj.Namespace
	n := countUnproven(u)
	text := run.UnprovenSentence(n)
	if n == 0 {
		text = u.Runs[0].Note
	}
	var names []string
	for _, one := range u.Resources[:min(len(u.Resources), namedInMessages)] {
		names = append(names, one.Address)
	}
	if more := n - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	return text + fmt.Sprintf(". See `yuba status %s`; after checking: `yuba acknowledge %s --run %s`", call, call, u.Runs[len(u.Runs)-1].ID)
}

// unprovenAdvice adds to a failure's message what the run may have left.
func unprovenAdvice(r *run.Result) string {
	if len(r.Unproven)+r.UnprovenMore == 0 {
		if r.UnprovenNote != "" {
			return "\n" + r.UnprovenNote + "."
		}
		return ""
	}
	lines := make([]string, 0, namedInMessages+1)
	for _, one := range r.Unproven[:min(len(r.Unproven), namedInMessages)] {
		lines = append(lines, shortened(one.String()))
	}
	if more := len(r.Unproven) - len(lines) + r.UnprovenMore; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	importable := r.UnprovenMore > 0 || slices.ContainsFunc(r.Unproven, func(one run.Unproven) bool { return one.MayExist && !one.OverAnother() })
	replaced := slices.ContainsFunc(r.Unproven, run.Unproven.OverAnother)
	return "\nNo state proves what became of:\n  " + strings.Join(lines, "\n  ") + "\n" + run.UnprovenAdvice(importable, replaced) + "."
}
