// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/state/migration"
)

// side is one of the two backends of a migration.
type side struct {
	run.Backend
	location string
	// other is true for the backend that is not the run's own.
	other bool
	env   []string
}

func (b side) managed() bool { return b.Kind == run.BackendManaged }

// migrator copies a state between two backends. The tool locks a custom backend for each write; the
// server holds the lock of a managed state for the whole run.
type migrator struct {
	*stateStep
	change   *run.StateChange
	from, to side
	// at is the backend that the working directory is initialised with.
	at side
	// entered counts the changes of at.
	entered int
}

// migrateSteps returns the steps of a migration.
func (s *stateStep) migrateSteps() []execution.Step {
	if s.run.Spec.StateChange.Preview {
		return []execution.Step{{Name: run.StepPlan, Do: s.migrate}}
	}
	return []execution.Step{{Name: execution.StepContinue, Do: s.planning.mayApply}, {Name: run.StepApply, Do: s.migrate}}
}

func (s *stateStep) migrate(ctx context.Context) error {
	change := s.run.Spec.StateChange
	given := change.Migration
	if given == nil {
		return fault.New("", "migrate the state: the run does not name the backends. This is a bug in Yuba")
	}
	own, other := side{Backend: s.run.Spec.Backend}, side{Backend: given.Other, other: true}
	for _, e := range given.Env {
		other.env = append(other.env, e.Name+"="+e.Value)
	}
	m := &migrator{stateStep: s, change: change, from: other, to: own, at: own}
	if given.Into {
		m.from, m.to = own, other
	}
	m.from.location, m.to.location = given.From, given.To
	m.at.location = m.from.location
	if !given.Into {
		m.at.location = m.to.location
	}
	if change.Preview {
		return m.preview(ctx)
	}
	if err := s.program.BeginApply(); err != nil {
		return err
	}
	s.run.Log.Note("Migrating the state from %s to %s", given.From, given.To)
	if change.Accept {
		return m.accept(ctx)
	}
	return m.copy(ctx)
}

// preview reads both sides.
func (m *migrator) preview(ctx context.Context) error {
	source, destination, err := m.both(ctx)
	if err != nil {
		return err
	}
	if m.change.Accept {
		proof, err := migration.Accept(destination)
		if err != nil {
			return refused(err)
		}
		m.run.Result.Text = fmt.Sprintf("Would keep the state at %s: %d resources, lineage %s, serial %d", m.to.location, proof.Resources, proof.Lineage, proof.NewSerial)
		return nil
	}
	verb, err := migration.Judge(source, destination)
	if err != nil {
		return refused(err)
	}
	m.run.Result.Text = map[migration.Verb]string{
		migration.Copy:    "Would copy the state to %s",
		migration.Replace: "Would copy the state to %s, over an empty one of another lineage",
		migration.Keep:    "The state is at %s already; only the stack has to use it",
		migration.Nothing: "There is no state to copy to %s",
	}[verb]
	m.run.Result.Text = fmt.Sprintf(m.run.Result.Text, m.to.location)
	return nil
}

func (m *migrator) accept(ctx context.Context) error {
	if err := m.enter(ctx, m.to); err != nil {
		return err
	}
	destination, err := m.pull(ctx)
	if err != nil {
		return err
	}
	proof, err := migration.Accept(destination)
	if err != nil {
		return refused(err)
	}
	m.run.Result.Text = fmt.Sprintf("The stack continues with the state at %s: %d resources, lineage %s, serial %d.", m.to.location, proof.Resources, proof.Lineage, proof.NewSerial)
	return nil
}

func (m *migrator) both(ctx context.Context) (source, destination []byte, err error) {
	if err := m.enter(ctx, m.from); err != nil {
		return nil, nil, err
	}
	if source, err = m.pull(ctx); err != nil {
		return nil, nil, err
	}
	if !m.change.Preview {
		if err := m.unmoved(ctx, source); err != nil {
			return nil, nil, err
		}
	}
	if err := m.enter(ctx, m.to); err != nil {
		return nil, nil, err
	}
	destination, err = m.pull(ctx)
	return source, destination, err
}

// copy copies the state, reads it back, and makes sure that nobody changed the source meanwhile.
func (m *migrator) copy(ctx context.Context) error {
	source, destination, err := m.both(ctx)
	if err != nil {
		return err
	}
	for pushed := 0; pushed <= 2; pushed++ { // the first push may invent a lineage, which the second corrects
		verb, err := migration.Judge(source, destination)
		switch {
		case err != nil:
			return refused(err)
		case verb == migration.Nothing:
			m.run.Result.Text = fmt.Sprintf("There is no state yet. The stack uses %s from now on.", m.to.location)
			return nil
		case verb == migration.Keep || pushed == 2:
			return m.conclude(ctx, source, destination)
		}
		next, err := migration.Raise(source)
		if err != nil {
			return refused(err)
		}
		if err := m.push(ctx, next, verb == migration.Replace); err != nil {
			return err
		}
		if destination, err = m.pull(ctx); err != nil {
			return err
		}
	}
	return nil
}

// conclude compares the two sides.
func (m *migrator) conclude(ctx context.Context, source, destination []byte) error {
	proof, err := migration.Prove(source, destination)
	if err != nil {
		return fault.New(run.FailureState, "compare the states at %s and %s: %w. The stack stays with %s", m.from.location, m.to.location, err, m.from.location)
	}
	if !m.from.managed() {
		if err := m.enter(ctx, m.from); err != nil {
			return err
		}
		if err := m.unmoved(ctx, source); err != nil {
			return err
		}
	}
	m.run.Result.Text = fmt.Sprintf("The state is at %s now: %s.\nThe former one stays at %s, as a copy that nothing uses.", m.to.location, proof, m.from.location)
	return nil
}

// unmoved proves, under the source's lock, that the source still is the state that was read and that
// nobody else holds the lock: the tool refuses to push a state over a newer one, and does not write an
// equal one. Together with the first call, this is as good as holding the lock in between.
func (m *migrator) unmoved(ctx context.Context, source []byte) error {
	if m.from.managed() || len(source) == 0 {
		return nil
	}
	return m.push(ctx, source, false)
}

// enter initialises the working directory with a side's backend.
func (m *migrator) enter(ctx context.Context, to side) error {
	if m.at.other == to.other {
		m.at = to
		return nil
	}
	w := m.site.Space
	w.Record.Init, w.Record.Settings = "", true // the next run must init, and forget these settings
	if err := errors.Join(w.Save(), w.ForgetBackend(), w.Write(w.InModule(workspace.OverrideTF), []byte(to.Override))); err != nil {
		return err
	}
	m.entered++
	// A state file of a local backend in this directory would make init migrate it.
	if err := w.Write(w.InModule(workspace.DataDirTF+"/"+workspace.StateName), fmt.Appendf(nil, nowhere, filepath.Join(w.Base, nowhereName), m.entered)); err != nil {
		return err
	}
	args := []string{"init", "-input=false", "-no-color"}
	if !run.IsCloud(to.location) { // which has no such flags, and asks nothing where there is nothing to copy
		args = append(args, "-migrate-state", "-force-copy")
	}
	if w.Tool.JSONInit() {
		args = append(args, "-json")
	}
	if len(to.Settings) > 0 {
		if err := w.Write(workspace.SettingsName, fetch.SettingsHCL(to.Settings)); err != nil {
			return err
		}
		defer w.Root.Remove(workspace.SettingsName) //nolint:errcheck // it goes with its directory at the latest
		args = append(args, "-backend-config="+filepath.Join(w.Base, workspace.SettingsName))
	}
	m.at = to
	if err := m.tool(ctx, supervisor.Command{Step: run.StepInit, Args: args, Title: "init"}, "reach the backend"); err != nil {
		return err
	}
	if to.managed() || w.Named == "default" || run.NeedsWorkspace(to.location) { // the environment names it
		return nil
	}
	return m.tool(ctx, supervisor.Command{Step: run.StepInit, Args: []string{"workspace", "select", "-or-create", "-no-color", w.Named}, Title: "workspace select"},
		"select the workspace "+w.Named)
}

// nowhere makes init believe that the backend was a local one whose files do not exist, so that there
// is nothing to copy. A cloud's init creates the directory of its workspace there, so each has its own.
const nowhere = `{"version":3,"serial":1,"lineage":"6d1f4f0a-52a8-4f7e-8e0c-2f5b8d0a7c11","backend":{"type":"local","config":{"path":"%[1]s-%[2]d.tfstate","workspace_dir":"%[1]s-%[2]d.d"},"hash":0}}`

// nowhereName goes with its directory.
const nowhereName = workspace.PlanDir + "/none"

// tool runs a command at the current side.
func (m *migrator) tool(ctx context.Context, c supervisor.Command, attempt string) error {
	c.Env = m.at.env
	c.Unselected = !m.at.managed() && (m.site.Space.Named == "default" || c.Step == run.StepInit && !run.NeedsWorkspace(m.at.location))
	stream, e, err := m.program.Tofu(ctx, c)
	if err == nil {
		err = m.program.Verdict(c, stream, e, 0)
	}
	return m.about(attempt, err)
}

// about says at which side an attempt failed.
func (m *migrator) about(attempt string, err error) error {
	var f *fault.Failure
	if err == nil || !errors.As(err, &f) {
		return err
	}
	failed := *f
	failed.Err = fmt.Errorf("%s at %s: %w", attempt, m.at.location, f.Err)
	if lock := m.run.Result.Lock; f.Class == run.FailureLocked && lock != nil {
		failed.Err = fmt.Errorf("%s at %s: locked by %s since %s (%s, lock %s). If that process is gone, add --break-lock %s", attempt, m.at.location,
			lock.Who, lock.Created.UTC().Format("2006-01-02 15:04:05 MST"), lock.Operation, lock.ID, lock.ID)
	}
	return &failed
}

// pull reads the state at the current side; empty for none.
func (m *migrator) pull(ctx context.Context) ([]byte, error) {
	captured := &fetch.Bounded{Limit: m.run.StateLimit()}
	step := run.StepApply
	if m.change.Preview {
		step = run.StepPlan
	}
	c := supervisor.Command{Step: step, Title: "state pull", Args: []string{"state", "pull", "-no-color"}, Capture: captured}
	if err := m.tool(ctx, c, "read the state"); err != nil {
		return nil, err
	}
	if captured.Over {
		return nil, fault.New(run.FailureLimit, "read the state at %s: it exceeds the limit of %d bytes", m.at.location, captured.Limit)
	}
	return captured.Bytes(), nil
}

// push writes a state at the current side, under its lock.
func (m *migrator) push(ctx context.Context, data []byte, force bool) error {
	if err := m.site.Space.Write(pushedName, data); err != nil {
		return err
	}
	defer m.site.Space.Root.Remove(pushedName) //nolint:errcheck // it goes with its directory at the latest
	c := supervisor.Command{Step: run.StepApply, Title: "state push", Args: []string{"state", "push", "-no-color"}, States: m.at.managed(),
		Reserve: supervisor.OutputReserve + 3*int64(len(data))}
	switch {
	case m.at.managed(): // the server holds the lock
		c.Args = append(c.Args, "-lock=false")
	default:
		c.Args = append(c.Args, lockArgs(&m.run.Spec, false)...)
	}
	if force {
		c.Args = append(c.Args, "-force")
	}
	c.Args = append(c.Args, filepath.Join(m.site.Space.Base, pushedName))
	err := m.tool(ctx, c, "write the state")
	if lock := m.run.Result.Lock; err == nil || lock == nil || m.change.BreakLock == "" || lock.ID != m.change.BreakLock {
		return err
	}
	m.run.Result.Lock = nil
	m.run.Log.Note("Breaking the lock %s at %s", m.change.BreakLock, m.at.location)
	unlock := supervisor.Command{Step: run.StepApply, Title: "force-unlock", Args: []string{"force-unlock", "-force", "-no-color", m.change.BreakLock}}
	if err := m.tool(ctx, unlock, "break the lock"); err != nil {
		return err
	}
	return m.tool(ctx, c, "write the state")
}

// refused is a failure that changed nothing, and that only a person can solve.
func refused(err error) error {
	var refusal *migration.RefusedError
	class := run.FailureState
	if errors.As(err, &refusal) || errors.Is(err, migration.ErrEncrypted) {
		class = run.FailureConfiguration
	}
	return fault.New(class, "migrate the state: %w", err)
}
