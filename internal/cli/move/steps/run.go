// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// Mover moves namespaces from one home to another.
type Mover struct {
	From, To   *Side
	Namespaces []string
	// Quiet limits the wait for the end of runs at the source, Settle that for the first passes at
	// the target.
	Quiet, Settle time.Duration
	// News reports progress. Confirm may refuse the plan.
	News    func(format string, args ...any)
	Confirm func(Report) error

	id string
	// claimed are the Leases of a move in progress.
	claimed *claim
	// torns are restored stacks that stay suspended, and why, by NAMESPACE/NAME.
	torns map[string]string
}

// Report is what a move does, for people and programs.
type Report struct {
	From decide.Home `json:"from"`
	To   decide.Home `json:"to"`
	decide.Plan
	// Left are objects of kinds that do not move.
	Left []Left `json:"left,omitempty"`
}

// Plan reads both homes and says what a move would do. It changes nothing.
func (m *Mover) Plan(ctx context.Context) (Report, error) {
	report, _, err := m.plan(ctx)
	return report, err
}

func (m *Mover) plan(ctx context.Context) (Report, *gathered, error) {
	g, err := m.gather(ctx)
	if err != nil {
		return Report{}, nil, err
	}
	plan := decide.Decide(g.facts)
	g.adopt(plan)
	return Report{From: m.From.Home, To: m.To.Home, Plan: plan, Left: g.left}, g, nil
}

// adopt gives each object its decision.
func (g *gathered) adopt(plan decide.Plan) {
	steps := map[string]decide.Step{}
	for _, ns := range plan.Namespaces {
		steps[ns.Name] = ns.Step
	}
	items := map[itemKey]decide.Item{}
	for _, item := range plan.Items {
		items[keyOfItem(item)] = item
	}
	for _, s := range g.spaces {
		s.step = steps[s.name]
		for _, p := range s.pairs {
			p.item = items[keyOfItem(p.item)]
		}
	}
}

type itemKey struct{ kind, namespace, name string }

func keyOfItem(i decide.Item) itemKey { return itemKey{i.Kind, i.Namespace, i.Name} }

// RefusedError means that nothing was copied, because the plan has conflicts or problems.
type RefusedError struct {
	Report Report
	// Suspended: the problem came up when the source was suspended already.
	Suspended bool
}

func (e *RefusedError) Error() string {
	changed := "nothing was changed"
	if e.Suspended {
		changed = "everything at the source stays suspended, and nothing was copied. Solve the problems and run the same command again, or add --cancel"
	}
	return fmt.Sprintf("move from %s to %s: "+changed+": %d conflicts, %d blocked objects, %d other problems", e.Report.From.Name, e.Report.To.Name,
		e.Report.Count(decide.VerbConflict), e.Report.Count(decide.VerbBlocked), len(e.Report.Problems))
}

// Run moves the namespaces, or continues an interrupted move.
func (m *Mover) Run(ctx context.Context) (Summary, error) {
	return m.exclusively(ctx, func(*gathered) error { return nil }, m.run)
}

// exclusively plans, asks, plans again when no other process works on the namespaces, and calls do. It
// ends with the first passes. Check may refuse the plan.
func (m *Mover) exclusively(ctx context.Context, check func(*gathered) error,
	do func(context.Context, Report, *gathered) (Report, *copied, []resumed, error)) (Summary, error) {
	report, g, err := m.plan(ctx)
	if err != nil {
		return Summary{}, err
	}
	if report.Refused() {
		return Summary{}, &RefusedError{Report: report}
	}
	if report.Step == decide.StepNothing {
		return m.summary(report, nil, nil), nil
	}
	if err := check(g); err != nil {
		return Summary{}, err
	}
	if err := m.Confirm(report); err != nil {
		return Summary{}, err
	}
	defer m.release()
	claimed, err := m.claimSpaces(ctx, g)
	if err != nil {
		return Summary{}, err
	}
	// 0. The target serves the application kinds.
	if err := m.bringDefinitions(claimed, g); err != nil {
		return Summary{}, m.explain(err)
	}
	// Another process may have moved or canceled since this one has planned.
	report, g, err = m.plan(claimed)
	switch {
	case err != nil:
		return Summary{}, m.explain(err)
	case report.Refused():
		return Summary{}, &RefusedError{Report: report}
	case report.Step == decide.StepNothing:
		return m.summary(report, nil, nil), nil
	}
	if m.id = report.Move; m.id == "" {
		m.id = newID()
	}
	report, copied, resumed, err := do(claimed, report, g)
	if err != nil {
		return Summary{}, m.explain(err)
	}
	m.release()
	passes, err := m.settle(ctx, resumed)
	return m.summary(report, copied, passes), err
}

// claimSpaces claims the namespaces with anything to do at both homes.
func (m *Mover) claimSpaces(ctx context.Context, g *gathered) (context.Context, error) {
	var names []string
	for _, s := range g.spaces {
		if !g.involved(s) {
			continue
		}
		if err := m.makeNamespace(ctx, s.name); err != nil {
			return nil, err
		}
		names = append(names, s.name)
	}
	return m.claim(ctx, names)
}

// run moves what has been planned.
func (m *Mover) run(ctx context.Context, report Report, g *gathered) (Report, *copied, []resumed, error) {
	report, g, copied, err := m.bring(ctx, report, g)
	if err != nil {
		return report, nil, nil, err
	}
	resumed, err := m.finish(ctx, g, m.recordDone)
	return report, copied, resumed, err
}

// finish resumes at the target what has been copied and compared, and records that.
func (m *Mover) finish(ctx context.Context, g *gathered, record func(context.Context, *gathered, *space) error) ([]resumed, error) {
	if err := m.owned(ctx, g); err != nil {
		return nil, err
	}
	if err := m.each(g, ctx, m.recordVerified); err != nil {
		return nil, err
	}
	// 6. Resume, and 7. record.
	resumed, err := m.resume(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := m.owned(ctx, g); err != nil {
		return nil, err
	}
	return resumed, m.each(g, ctx, record)
}

// copyAndVerify copies, and compares both homes.
func (m *Mover) copyAndVerify(ctx context.Context, g *gathered) (*copied, error) {
	copied, err := m.copy(ctx, g)
	if err != nil {
		return nil, err
	}
	return copied, m.verify(ctx, g, copied)
}

// maxThaws limits how often somebody may resume objects at the source during a move.
const maxThaws = 3

// bring suspends the source, copies and compares. The comparison counts only if the source was
// suspended all the time: otherwise something may run there, and all is done again.
func (m *Mover) bring(ctx context.Context, report Report, g *gathered) (Report, *gathered, *copied, error) {
	for thaws := 0; ; thaws++ {
		var err error
		if report, g, err = m.still(ctx, report, g); err != nil {
			return report, nil, nil, err
		}
		// 4. Copy, and 5. compare.
		copied, err := m.copyAndVerify(ctx, g)
		if err != nil {
			return report, nil, nil, err
		}
		thawed, err := m.thawed(ctx, g)
		if err != nil || len(thawed) == 0 {
			return report, g, copied, err
		}
		if thaws == maxThaws {
			return report, nil, nil, fmt.Errorf("suspend %s: somebody resumes these objects again and again: %s. Nothing was resumed at %s. Stop that, and run the same command again, or add --cancel",
				m.From.Name, strings.Join(thawed, ", "), m.To.Name)
		}
		m.News("Somebody has resumed %s at %s. Suspending and comparing again …", strings.Join(thawed, ", "), m.From.Name)
	}
}

// maxRounds limits how often the source may get new objects while it is being suspended.
const maxRounds = 10

// still suspends the source until nothing changes there any more. What ends meanwhile may leave new
// objects, such as the state of a first apply, or change others: so it plans again, until the plan has
// nothing new.
func (m *Mover) still(ctx context.Context, report Report, g *gathered) (Report, *gathered, error) {
	for range maxRounds {
		// 1. Record what is going to be at the target, 2. suspend it at the source, kinds that write others first
		// there, and 3. wait for the end of what is in progress.
		if err := m.each(g, ctx, m.announce); err != nil {
			return report, nil, err
		}
		if err := m.freeze(ctx, g); err != nil {
			return report, nil, err
		}
		again, next, err := m.plan(ctx)
		if err != nil {
			return report, nil, err
		}
		if again.Refused() {
			return report, nil, &RefusedError{Report: again, Suspended: true}
		}
		if err := m.owned(ctx, next); err != nil {
			return report, nil, err
		}
		if !next.exceeds(g) {
			return again, next, nil
		}
		report, g = again, next
	}
	return report, nil, fmt.Errorf("suspend %s: there are always new objects. Everything there stays suspended. Stop what makes them, and run the same command again", m.From.Name)
}

// exceeds reports whether the plan copies objects that an earlier one did not.
func (g *gathered) exceeds(earlier *gathered) bool {
	known := map[itemKey]bool{}
	for _, s := range earlier.spaces {
		for _, p := range s.copying() {
			known[keyOfItem(p.item)] = true
		}
	}
	for _, s := range g.spaces {
		for _, p := range s.copying() {
			if !known[keyOfItem(p.item)] {
				return true
			}
		}
	}
	return false
}

// each calls the steps for each namespace that is to be moved, one step after the other.
func (m *Mover) each(g *gathered, ctx context.Context, steps ...func(context.Context, *gathered, *space) error) error {
	for _, step := range steps {
		for _, s := range g.spaces {
			if !g.involved(s) {
				continue
			}
			if err := step(ctx, g, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// involved reports whether a move has anything to do in a namespace.
func (g *gathered) involved(s *space) bool {
	return s.step == decide.StepContinue || s.step == decide.StepResume || slices.ContainsFunc(s.pairs, (*pair).copies)
}

// copies reports whether the object is written at the target.
func (p *pair) copies() bool {
	return p.item.Verb == decide.VerbCreate || p.item.Verb == decide.VerbUpdate
}

// copying are the objects of a namespace that are written at the target.
func (s *space) copying() []*pair {
	return slices.DeleteFunc(slices.Clone(s.pairs), func(p *pair) bool { return !p.copies() })
}

func newID() string {
	random := make([]byte, 4)
	rand.Read(random) //nolint:errcheck // never fails, see its documentation
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(random)
}

// announce creates the namespace at the target, and lists there what the move will write.
func (m *Mover) announce(ctx context.Context, g *gathered, s *space) error {
	if s.step == decide.StepResume {
		return nil
	}
	if err := m.makeNamespace(ctx, s.name); err != nil {
		return err
	}
	r := s.to.next(m.id, decide.RoleTarget, m.From.Home)
	for _, p := range s.pairs {
		key := keyOf(p.item.Kind, p.item.Name)
		// Equal objects belong to the move, too: a run that ends meanwhile may change the source's.
		if p.copies() || p.item.Verb == decide.VerbKeep {
			r.Objects[key] = entry{Move: m.id}
		}
	}
	r.Claim = m.claimed.id
	s.to = r
	return m.To.writeRecord(ctx, s.name, r)
}

func (m *Mover) makeNamespace(ctx context.Context, name string) error {
	there, err := m.To.namespace(ctx, name)
	if err != nil || there != nil {
		return err
	}
	here, err := m.From.namespace(ctx, name)
	if err != nil || here == nil {
		return err
	}
	_, err = m.To.create(ctx, namespaceKind, "v1", shape.Namespace(here))
	return err
}

// mark is the mark that refers to a home.
func (m *Mover) mark(to decide.Home) moving.Mark {
	return moving.Mark{Move: m.id, Home: to.ID, Name: to.Name}
}

func (m *Mover) recordVerified(ctx context.Context, _ *gathered, s *space) error {
	if s.to.Phase == decide.PhaseVerified {
		return nil
	}
	s.to.Phase = decide.PhaseVerified
	return m.To.writeRecord(ctx, s.name, s.to)
}

// recordDone records at both homes that the move is complete, and at the source what its copies are
// like, so that the way back notices changes.
func (m *Mover) recordDone(ctx context.Context, g *gathered, s *space) error {
	if s.from.Move != m.id {
		s.from = s.from.next(m.id, decide.RoleSource, m.To.Home)
	}
	s.from.Phase = decide.PhaseDone
	for _, p := range s.pairs {
		key := keyOf(p.item.Kind, p.item.Name)
		_, moved := s.to.Objects[key]
		if !moved || p.item.Verb == decide.VerbSkip {
			continue
		}
		live, err := m.From.get(ctx, p.kind, p.version, s.name, p.item.Name)
		if err != nil {
			return err
		}
		if live != nil {
			s.from.Objects[key] = entry{Move: m.id, Digest: shape.Digest(p.kind, live)}
		}
	}
	if err := m.From.writeRecord(ctx, s.name, s.from); err != nil {
		return err
	}
	s.to.Phase = decide.PhaseDone
	return m.To.writeRecord(ctx, s.name, s.to)
}
