// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// maxShown limits the description of a resource in a result.
const maxShown = 256 << 10

// read lists the resources in a custom backend, or describes one, without sensitive values. The state
// itself stays on the runner: records keep only what was asked for.
func (s *stateStep) read(ctx context.Context) error {
	change := s.run.Spec.StateChange
	if err := change.Check(); err != nil {
		return fault.New(run.FailureConfiguration, "read the state: %w", err)
	}
	captured := &fetch.Bounded{Limit: s.run.StateLimit()}
	c := supervisor.Command{Step: run.StepShow, Title: "state pull", Args: []string{"state", "pull", "-no-color"}, Capture: captured}
	stream, e, err := s.program.Tofu(ctx, c)
	if err == nil {
		err = s.program.Verdict(c, stream, e, 0)
	}
	switch {
	case err != nil:
		return err
	case captured.Over:
		return fault.New(run.FailureLimit, "read the state at %s: it exceeds the limit of %d bytes", s.run.Spec.Backend.Location, captured.Limit)
	case len(captured.Bytes()) == 0:
		return fault.New(run.FailureConfiguration, "read the state at %s: there is none yet", s.run.Spec.Backend.Location)
	}
	file, err := statefile.Parse(captured.Bytes())
	if err != nil {
		return fault.New(run.FailureState, "read the state at %s: %w", s.run.Spec.Backend.Location, err)
	}
	if change.Verb == run.StateShow {
		return s.describe(file, change.Args[0])
	}
	s.list(statefile.Below(file.Resources, change.Args), maxResources)
	s.run.Result.Text = fmt.Sprintf("The state at %s has %d resources", s.run.Spec.Backend.Location, len(file.Resources))
	return nil
}

// list puts the first of these resources into the result.
func (s *stateStep) list(resources []statefile.Resource, most int) {
	mask := s.run.Mask.Text
	for _, r := range resources[:min(len(resources), most)] {
		s.run.Result.State = append(s.run.Result.State, run.StateResource{Address: mask(r.Address), Mode: r.Mode, Type: r.Type, Name: r.Name,
			Provider: r.ProviderAddr, ID: mask(r.ID), Deposed: r.Deposed, Tainted: r.Tainted})
	}
	if n := len(resources); n > most {
		s.run.Result.StateMore = n - most
		s.run.AddWarning(fmt.Sprintf("the list has the first %d of %d resources", most, n))
	}
}

// describe shows a resource as `yuba state show` does it for a state that Yuba keeps.
func (s *stateStep) describe(file *statefile.File, address string) error {
	resource, ok := file.Resource(address)
	if !ok {
		return fault.New(run.FailureConfiguration, "the state at %s has no resource %s", s.run.Spec.Backend.Location, address)
	}
	var b strings.Builder
	if err := resource.Show(&b); err != nil {
		return fault.New(run.FailureState, "show %s: %w", address, err)
	}
	text := s.run.Mask.Text(b.String())
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "\n…"
	}
	s.run.Result.Text = strings.TrimRight(text, "\n")
	return nil
}

// unlock breaks the lock of a custom backend.
func (s *stateStep) unlock(ctx context.Context) error {
	change := s.run.Spec.StateChange
	if err := change.Check(); err != nil {
		return fault.New(run.FailureConfiguration, "break the lock: %w", err)
	}
	if s.run.Spec.Backend.Kind == run.BackendManaged {
		return fault.New(run.FailureConfiguration, "break the lock: the server releases the locks of states that Yuba keeps")
	}
	c := supervisor.Command{Step: run.StepInit, Title: "force-unlock", Args: []string{"force-unlock", "-force", "-no-color", change.Args[0]}}
	stream, e, err := s.program.Tofu(ctx, c)
	if err == nil {
		err = s.program.Verdict(c, stream, e, 0)
	}
	if err != nil {
		return err
	}
	s.run.Result.Text = fmt.Sprintf("Broke the lock %s at %s", change.Args[0], s.run.Spec.Backend.Location)
	s.run.Log.Note("Broke the lock %s", change.Args[0])
	return nil
}
