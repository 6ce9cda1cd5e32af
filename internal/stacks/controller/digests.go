// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// recognize replaces digests over the whole archive, as earlier versions recorded them, with the
// present digest: the same archive has the same part.
func (p *gathered) recognize() {
	if p.config == nil || p.config.Whole == "" {
		return
	}
	same := []*string{&p.facts.Stack.PlannedConfig}
	if p.facts.Pending != nil {
		same = append(same, &p.facts.Pending.Config)
	}
	if p.facts.Current != nil {
		same = append(same, &p.facts.Current.Config)
	}
	if p.facts.Last != nil {
		same = append(same, &p.facts.Last.Config)
	}
	for _, digest := range same {
		if *digest == p.config.Whole {
			*digest = p.config.Digest
		}
	}
}

// planned reports whether the last conclusive pass had the present configuration.
func (p *gathered) planned() bool {
	last := p.obj.Status.ConfigDigest
	return last != "" && (last == p.facts.Config || p.config != nil && last == p.config.Whole)
}

// about reports whether a run had the configuration that a digest of the status stands for.
func about(rec run.Record, digest string) bool {
	return digest != "" && (rec.Config == digest || rec.WholeConfig == digest)
}

// asPlanned applies a plan with the archive it was made with, which may be an older one.
func (w runDrafts) asPlanned(ctx context.Context, p *gathered, s *run.Spec) error {
	if p.config == nil || p.config.Whole == "" {
		return nil // the archive is the same, or the plan would not fit
	}
	rec, err := w.runs.Record(ctx, p.stack, s.Plan.RunID)
	switch {
	case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
		return nil // whether the plan itself is there is for the run to find out
	case err != nil:
		return fmt.Errorf("read the run that made plan %s of %s: %w", s.Plan.ID, p.stack, err)
	}
	s.Artifact, s.Part = rec.Spec.Artifact, rec.Spec.Part
	return nil
}
