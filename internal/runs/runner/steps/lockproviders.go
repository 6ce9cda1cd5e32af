// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
)

// lockProviders answers with the dependency lock file for more platforms. It changes none that runs use.
func (s *stateStep) lockProviders(ctx context.Context) error {
	change := s.run.Spec.StateChange
	if err := change.Check(); err != nil {
		return fault.New(run.FailureConfiguration, "lock the providers: %w", err)
	}
	args := []string{"providers", "lock", "-no-color"}
	for _, platform := range change.Args {
		args = append(args, "-platform="+platform)
	}
	if s.site.Space.Tool.Name != "terraform" { // which has no variables in the sources of modules
		varFiles, err := s.site.CheckedVarFiles()
		if err != nil {
			return err
		}
		args = append(args, varFiles...)
	}
	text, err := s.init.LockProviders(ctx, func(more ...string) error {
		c := supervisor.Command{Step: run.StepPlan, Title: "providers lock", Args: slices.Concat(args, more)}
		stream, e, err := s.program.Tofu(ctx, c)
		if err != nil {
			return err
		}
		return s.program.Verdict(c, stream, e, 0)
	})
	if err != nil {
		return err
	}
	if len(text) > maxAnswer {
		return fault.New(run.FailureLimit, "read the lock file: it has %d bytes, the limit is %d", len(text), maxAnswer)
	}
	s.run.Result.Text = string(text)
	return nil
}
