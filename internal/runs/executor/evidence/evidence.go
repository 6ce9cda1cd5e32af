// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/unproven"
	"github.com/yuba-dev/yuba/internal/tofu/module"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Runs reads the plans of other runs.
type Runs interface {
	Record(ctx context.Context, stack run.Stack, id string) (run.Record, error)
	ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error)
}

// States reads states and their versions.
type States interface {
	Read(ctx context.Context, key state.Key, options ...state.ReadOption) (*state.Snapshot, error)
	Find(ctx context.Context, key state.Key, digest string) (state.Version, []byte, error)
}

// Artifacts reads programs.
type Artifacts interface {
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
}

// Finder gathers the evidence. Its methods are safe for concurrent use.
type Finder struct {
	runs      Runs
	states    States
	artifacts Artifacts
	patience  time.Duration
	log       *slog.Logger

	mu sync.Mutex
	// unread is when the evidence of a run was first unreadable, by the run's id.
	unread map[string]time.Time
}

// defaultPatience is how long the end of an apply waits for unreadable evidence.
const defaultPatience = 5 * time.Minute

// New returns a Finder that waits for unreadable evidence for patience; 0 means 5 minutes.
func New(runs Runs, states States, artifacts Artifacts, patience time.Duration, log *slog.Logger) *Finder {
	return &Finder{runs: runs, states: states, artifacts: artifacts, patience: cmp.Or(patience, defaultPatience), log: log,
		unread: map[string]time.Time{}}
}

// List adds unproven resources to the result of an apply. It fails while evidence cannot be read,
// as long as the patience lasts.
func (f *Finder) List(ctx context.Context, rec run.Record, result *run.Result, log io.Reader) (unproven.List, error) {
	found, err := f.evidence(ctx, rec, result, log)
	if err != nil && !f.Outwaited(rec.Spec.ID) {
		return unproven.List{}, fmt.Errorf("find the possible leftovers of run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	l := unproven.Find(found)
	l.Objects = append(l.Objects, olderRunners(result, found.Now)...)
	if err != nil {
		f.log.Error("not all evidence of an interrupted apply could be read", "stack", rec.Spec.Stack.String(), "run", rec.Spec.ID, "error", err)
		note := "Not all evidence could be read: compare the state with the real infrastructure"
		if l.Note != "" {
			note += ". " + l.Note
		}
		l.Note = note
	}
	result.Unproven, result.UnprovenMore, result.UnprovenNote = l.Objects, l.More, l.Note
	return l, nil
}

// Outwaited reports whether the end of a run has waited long enough for unreadable evidence.
func (f *Finder) Outwaited(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, waits := f.unread[id]
	if !waits {
		since = time.Now()
		f.unread[id] = since
	}
	return time.Since(since) >= f.patience
}

// Forget drops the waiting time of an ended run.
func (f *Finder) Forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.unread, id)
}

// MayHaveLeft reports whether a run is an apply that began and did not end well.
func MayHaveLeft(rec run.Record, result *run.Result) bool {
	apply := rec.Spec.Operation == run.OperationApply || rec.Spec.Operation == run.OperationPlanAndApply
	return apply && result.CutOff()
}

// Conceal masks secrets in the list: ids and names may come from states.
func Conceal(objects []run.Unproven, secrets *mask.Masker) {
	for i := range objects {
		u := &objects[i]
		if masked := secrets.Text(u.Address); masked != u.Address {
			u.Address, u.Match = masked, unproven.Match(u.Address, u.Match)
		}
		u.ID, u.Identity = secrets.Text(u.ID), secrets.Text(u.Identity)
		if secrets.Text(u.ReplacedID) != u.ReplacedID {
			u.ReplacedID = "" // then no state proves the replacement
		}
	}
}

// Nameless removes ids and names from states, for runs whose secrets are lost with their record.
func Nameless(objects []run.Unproven) {
	for i := range objects {
		u := &objects[i]
		u.ReplacedID = ""
		if u.MayBeGone {
			u.ID, u.Identity = "", ""
		}
	}
}

// evidence gathers the evidence of an apply. With an error it returns the readable part.
func (f *Finder) evidence(ctx context.Context, rec run.Record, result *run.Result, log io.Reader) (unproven.Evidence, error) {
	heard := hear(log)
	ev := unproven.Evidence{Trace: result.Trace}
	if ev.Trace == nil {
		ev.Trace = heard.trace()
	}
	unread := f.plannedOf(ctx, rec, result, heard, &ev)
	if ev.Lost {
		ev.Declared = f.declared(ctx, rec)
	}
	return ev, errors.Join(unread, f.statesOf(ctx, rec, result, &ev))
}

// plannedOf finds the plan: in the result, the runner's question, another run's record, or the log.
func (f *Finder) plannedOf(ctx context.Context, rec run.Record, result *run.Result, heard *heardLog, ev *unproven.Evidence) (err error) {
	switch p := result.Plan; {
	case p.TellsFates():
		ev.Planned, ev.More = p.Fates, p.FatesTotal-len(p.Fates)
		return nil
	case rec.PlannedTotal > 0 || rec.PlannedNone:
		ev.Planned, ev.More = rec.Planned, rec.PlannedTotal-len(rec.Planned)
		return nil
	case rec.Spec.Plan != nil:
		if ev.Planned, ev.More, err = f.fatesOfPlan(ctx, rec.Spec.Stack, rec.Spec.Plan.RunID); ev.Planned != nil {
			return nil
		}
	}
	ev.Planned, ev.More = heard.planned()
	ev.Lost = !heard.toldPlan
	return err
}

// fatesOfPlan reads the changes of another run's plan; nil if they are lost.
func (f *Finder) fatesOfPlan(ctx context.Context, stack run.Stack, id string) (fates []run.Fate, more int, err error) {
	rec, err := f.runs.Record(ctx, stack, id)
	switch {
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
	case err != nil:
		return nil, 0, err
	case rec.Result != nil && rec.Result.Plan.TellsFates():
		p := rec.Result.Plan
		return append([]run.Fate{}, p.Fates...), p.FatesTotal - len(p.Fates), nil
	}
	document, err := f.runs.ReadPlan(ctx, stack, id)
	var broken *blob.SealError
	switch {
	case errors.Is(err, run.ErrNotFound), errors.As(err, &broken):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	shown, err := plan.Decode(document)
	if err != nil {
		return nil, 0, nil //nolint:nilerr // a damaged plan proves nothing
	}
	for _, fate := range shown.Fates() {
		fates = append(fates, run.Fate{Address: fate.Address, Action: string(fate.Action)})
	}
	return append([]run.Fate{}, fates...), shown.Omitted, nil
}

// statesOf reads the states before and after the apply, as far as possible.
func (f *Finder) statesOf(ctx context.Context, rec run.Record, result *run.Result, ev *unproven.Evidence) error {
	if result.StateListed {
		ev.Now = unproven.Listed(result.StateHas)
		return nil
	}
	if rec.Spec.Backend.Kind != run.BackendManaged {
		ev.Sealed = true
		return nil
	}
	now, err := f.states.Read(ctx, records.StateKey(rec))
	switch {
	case state.Unreadable(err):
		return nil
	case err != nil:
		return err
	case now.Encrypted:
		ev.Sealed = true
		return nil
	}
	if ev.Now, err = unproven.Parse(now.Data); err != nil {
		return nil //nolint:nilerr // an invalid state proves nothing
	}
	switch began := rec.Began; {
	case began == nil:
	case began.Digest == "":
		ev.Before = unproven.NewState(nil)
	case began.Digest == now.Digest:
		ev.Before = ev.Now
	default:
		_, before, err := f.states.Find(ctx, records.StateKey(rec), began.Digest)
		switch {
		case errors.Is(err, state.ErrNoVersion), state.Unreadable(err):
		case err != nil:
			return err
		default:
			ev.Before, _ = unproven.Parse(before) //nolint:errcheck // an invalid state counts as none
		}
	}
	return nil
}

// maxProgram limits how much of a program is read.
const maxProgram = 16 << 20

// declared lists what a run's program declares; nil when it cannot be read.
func (f *Finder) declared(ctx context.Context, rec run.Record) []string {
	if rec.Spec.Artifact.Digest == "" {
		return nil
	}
	packed, err := f.artifacts.OpenArtifact(ctx, rec.Spec.Artifact.Digest)
	if err != nil {
		return nil
	}
	defer packed.Close() //nolint:errcheck // read only
	files, err := archive.Files(ctx, packed, archive.Limits{MaxPacked: rec.Spec.Limits.ArchiveBytes}, rec.Spec.Artifact.Digest, maxProgram, module.IsConfigFile)
	if err != nil {
		f.log.Warn("the program of an interrupted run cannot be read", "stack", rec.Spec.Stack.String(), "run", rec.Spec.ID, "error", err)
		return nil
	}
	return append([]string{}, module.Declared(files, rec.Spec.Path)...)
}
