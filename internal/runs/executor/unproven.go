// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/unproven"
	"github.com/yuba-dev/yuba/internal/tofu/module"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// readPatience is how long the end of an apply waits for evidence that cannot be read.
const readPatience = 5 * time.Minute

// account lists what an interrupted apply may have done without any state proving it. For some minutes it fails while
// evidence cannot be read, and the runner asks again. The entry's lock is held.
func (e *Executor) account(ctx context.Context, en *entry, rec run.Record, result *run.Result) error {
	if !mayHaveLeft(rec, result) {
		return nil
	}
	log, err := en.log.reader()
	if err != nil {
		return fmt.Errorf("read the log of run %s of %s: %w", en.id, en.stack, err)
	}
	l, err := e.list(ctx, en, rec, result, log)
	if err != nil {
		return err
	}
	conceal(l.Objects, rec.Spec.KnownSecrets().Masker(mask.Mark))
	result.Unproven, result.UnprovenMore, result.UnprovenNote = l.Objects, l.More, l.Note
	if !en.told {
		en.told = true
		en.log.tell(l)
	}
	return nil
}

// mayHaveLeft says whether a run is an apply that began and did not come to a good end.
func mayHaveLeft(rec run.Record, result *run.Result) bool {
	apply := rec.Spec.Operation == run.OperationApply || rec.Spec.Operation == run.OperationPlanAndApply
	return apply && result.CutOff()
}

// list finds what is unproven of an apply. It waits for unreadable evidence, with the run's lock held, and in the end goes
// on without.
func (e *Executor) list(ctx context.Context, en *entry, rec run.Record, result *run.Result, log io.Reader) (unproven.List, error) {
	evidence, err := e.evidence(ctx, rec, result, log)
	if err != nil && !e.outwaited(en) {
		return unproven.List{}, fmt.Errorf("see what run %s of %s may have left: %w", en.id, en.stack, err)
	}
	l := unproven.Find(evidence)
	l.Objects = append(l.Objects, olderRunners(result, evidence.Now)...)
	if err != nil {
		e.log.Error("what an interrupted apply may have left is listed without all evidence", "stack", en.stack.String(), "run", en.id, "error", err)
		notes := []string{"Not all evidence could be read: compare what the state lists with what exists"}
		if l.Note != "" {
			notes = append(notes, l.Note)
		}
		l.Note = strings.Join(notes, ". ")
	}
	return l, nil
}

// outwaited says whether the end of a run has waited long enough for what cannot be read.
func (e *Executor) outwaited(en *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	since, waits := e.unread[en.id]
	if !waits {
		since = time.Now()
		e.unread[en.id] = since
	}
	return time.Since(since) >= cmp.Or(e.opts.ReadPatience, readPatience)
}

// conceal masks the list: ids and names may come from states.
func conceal(objects []run.Unproven, secrets *mask.Masker) {
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

// evidence gathers what is left of an apply; with an error as much of it as can be read.
func (e *Executor) evidence(ctx context.Context, rec run.Record, result *run.Result, log io.Reader) (unproven.Evidence, error) {
	heard := hear(log)
	ev := unproven.Evidence{Trace: result.Trace}
	if ev.Trace == nil {
		ev.Trace = heard.trace()
	}
	planned := e.plannedOf(ctx, rec, result, heard, &ev)
	if planned != nil {
		ev.Planned, ev.More = heard.planned()
		ev.Lost = !heard.toldPlan
	}
	if ev.Lost {
		ev.Declared = e.declared(ctx, rec)
	}
	return ev, errors.Join(planned, e.statesOf(ctx, rec, result, &ev))
}

// plannedOf finds what the apply was to do: by what its runner said last, by what it said when it asked, by the record of
// the plan that it was to apply, or by what the log tells.
func (e *Executor) plannedOf(ctx context.Context, rec run.Record, result *run.Result, heard *heardLog, ev *unproven.Evidence) error {
	switch p := result.Plan; {
	case tellsFates(p):
		ev.Planned, ev.More = p.Fates, p.FatesTotal-len(p.Fates)
		return nil
	case rec.PlannedTotal > 0 || rec.PlannedNone:
		ev.Planned, ev.More = rec.Planned, rec.PlannedTotal-len(rec.Planned)
		return nil
	case rec.Spec.Plan != nil:
		fates, more, err := e.fatesOfPlan(ctx, rec.Spec.Stack, rec.Spec.Plan.RunID)
		if err != nil {
			return err
		}
		if fates != nil {
			ev.Planned, ev.More = fates, more
			return nil
		}
	}
	ev.Planned, ev.More = heard.planned()
	ev.Lost = !heard.toldPlan
	return nil
}

// tellsFates says whether a plan names what it makes and destroys: older runners only count.
func tellsFates(p *run.PlanResult) bool {
	return p != nil && (p.FatesTotal > 0 || p.Counts.Add+p.Counts.Destroy == 0)
}

// fatesOfPlan reads the changes of a plan that another run made, from its record or from the readable plan beside it. It
// returns nil when neither can be read any more.
func (e *Executor) fatesOfPlan(ctx context.Context, stack run.Stack, id string) (fates []run.Fate, more int, err error) {
	rec, err := e.Record(ctx, stack, id)
	switch {
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
	case err != nil:
		return nil, 0, err
	case rec.Result != nil && tellsFates(rec.Result.Plan):
		p := rec.Result.Plan
		return append([]run.Fate{}, p.Fates...), p.FatesTotal - len(p.Fates), nil
	}
	document, err := e.ReadPlan(ctx, stack, id)
	var broken *blob.SealError
	switch {
	case errors.Is(err, run.ErrNotFound), errors.As(err, &broken):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	shown, err := plan.Decode(document)
	if err != nil {
		return nil, 0, nil //nolint:nilerr // it is damaged, and so tells nothing
	}
	for _, f := range shown.Fates() {
		fates = append(fates, run.Fate{Address: f.Address, Action: string(f.Action)})
	}
	return append([]run.Fate{}, fates...), shown.Omitted, nil
}

// statesOf reads the states before and after the apply, as far as they can be read.
func (e *Executor) statesOf(ctx context.Context, rec run.Record, result *run.Result, ev *unproven.Evidence) error {
	if result.StateListed {
		ev.Now = unproven.Listed(result.StateHas)
		return nil
	}
	if rec.Spec.Backend.Kind != run.BackendManaged {
		ev.Sealed = true
		return nil
	}
	now, err := e.opts.States.Read(ctx, stateKey(rec))
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
		return nil //nolint:nilerr // what cannot be parsed proves nothing
	}
	switch began := rec.Began; {
	case began == nil:
	case began.Digest == "":
		ev.Before = unproven.NewState(nil)
	case began.Digest == now.Digest:
		ev.Before = ev.Now
	default:
		_, before, err := e.opts.States.Find(ctx, stateKey(rec), began.Digest)
		switch {
		case errors.Is(err, state.ErrNoVersion), state.Unreadable(err):
		case err != nil:
			return err
		default:
			ev.Before, _ = unproven.Parse(before) //nolint:errcheck // what cannot be parsed is like none
		}
	}
	return nil
}

// maxProgram bounds what is read of a program to see what it declares.
const maxProgram = 16 << 20

// declared lists what a run's program declares; nil when it cannot be read.
func (e *Executor) declared(ctx context.Context, rec run.Record) []string {
	if rec.Spec.Artifact.Digest == "" {
		return nil
	}
	packed, err := e.opts.Blobs.OpenArtifact(ctx, rec.Spec.Artifact.Digest)
	if err != nil {
		return nil
	}
	defer packed.Close() //nolint:errcheck // read only
	files, err := archive.Files(ctx, packed, archive.Limits{MaxPacked: rec.Spec.Limits.ArchiveBytes}, rec.Spec.Artifact.Digest, maxProgram, module.IsConfigFile)
	if err != nil {
		e.log.Warn("the program of an interrupted run cannot be read", "stack", rec.Spec.Stack.String(), "run", rec.Spec.ID, "error", err)
		return nil
	}
	return append([]string{}, module.Declared(files, rec.Spec.Path)...)
}

// heardLog is what a run's log tells of its apply.
type heardLog struct {
	stream plan.Stream
	// toldPlan is true when the log has the whole plan: its summary, or something later.
	toldPlan bool
}

// maxHeard is the longest line of a log that is looked into.
const maxHeard = 1 << 20

// hear reads a log, lines that cannot be read left out.
func hear(log io.Reader) *heardLog {
	h := &heardLog{}
	lines := bufio.NewReaderSize(log, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long := append([]byte{}, line...)
			for errors.Is(err, bufio.ErrBufferFull) {
				line, err = lines.ReadSlice('\n')
				if len(long) < maxHeard {
					long = append(long, line...)
				}
			}
			line = long
		}
		event := h.stream.Feed(line)
		switch event.Type {
		case plan.ChangeSummary, plan.ApplyStart:
			h.toldPlan = true
		}
		if err != nil {
			return h
		}
	}
}

// planned returns the changes that the log announces. A plan that is made, then applied, appears twice.
func (h *heardLog) planned() ([]run.Fate, int) {
	fates, total := h.stream.Fates()
	seen := map[string]bool{}
	var list []run.Fate
	for _, f := range fates {
		if !seen[f.Address] {
			seen[f.Address] = true
			list = append(list, run.Fate{Address: f.Address, Action: string(f.Action)})
		}
	}
	return list, max(0, total-len(fates))
}

// trace returns the steps that the log says were begun. Its end may be missing, so silence proves nothing.
func (h *heardLog) trace() *run.Trace {
	t := &run.Trace{Why: "the runner is gone, and may have heard more"}
	for _, a := range h.stream.Applied {
		if a.Action.OneStep() {
			ended := run.TraceDone
			if a.Failed {
				ended = run.TraceFailed
			}
			t.Steps = append(t.Steps, run.TraceStep{Address: a.Address, Action: string(a.Action), Ended: ended, ID: a.ID})
		}
	}
	for _, f := range h.stream.InFlight() {
		if f.Action.OneStep() {
			t.Steps = append(t.Steps, run.TraceStep{Address: f.Address, Action: string(f.Action), ID: f.ID})
		}
	}
	return t
}

// olderRunners takes over the lists of older runners, which judged by themselves, less what a state proves by now.
func olderRunners(r *run.Result, now *unproven.State) []run.Unproven {
	if r.Trace != nil {
		return nil
	}
	var list []run.Unproven
	add := func(address, id string, certain bool) {
		if now == nil || !now.Has(plan.Match(address)) {
			list = append(list, run.Unproven{Address: address, Action: run.ActionCreate, MayExist: true, Certain: certain, ID: id, StateUnread: now == nil})
		}
	}
	for _, lost := range r.Lost {
		address, id := cutID(lost)
		add(address, id, true)
	}
	for _, address := range r.InDoubt {
		add(address, "", false)
	}
	return list
}

// cutID takes "address (id)" apart.
func cutID(text string) (address, id string) {
	address, id, _ = strings.Cut(strings.TrimSuffix(text, ")"), " (")
	return address, id
}

// maxTold is how many objects the log names.
const maxTold = 100

// tell ends the log with what is unproven, beyond its limit if need be.
func (l *liveLog) tell(list unproven.List) {
	if len(list.Objects)+list.More == 0 && list.Note == "" {
		return
	}
	lines := []string{list.Sentence()}
	if list.Note != "" {
		lines = append(lines, list.Note)
	}
	for i, u := range list.Objects {
		if i == maxTold {
			lines = append(lines, fmt.Sprintf("and %d more; `yuba runs NAME -o json` lists all of them", len(list.Objects)+list.More-maxTold))
			break
		}
		lines = append(lines, u.String())
	}
	var text []byte
	for _, message := range lines {
		line, err := json.Marshal(map[string]string{"@level": "warn", "@message": message, "@module": "yuba",
			"@timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "type": "yuba_step"})
		if err == nil {
			text = append(append(text, line...), '\n')
		}
	}
	l.mu.Lock()
	limit := l.limit
	l.limit = l.size + int64(len(text))
	offset := l.size
	l.mu.Unlock()
	_, _ = l.write(offset, text) //nolint:errcheck // the result has the list
	l.mu.Lock()
	l.limit = limit
	l.mu.Unlock()
}
