// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"io"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Records reads runs.
type Records interface {
	Record(ctx context.Context, stack run.Stack, id string) (run.Record, error)
}

// Artifacts lists the digests of the archives that a stack needs beside that of its source: its inline program, what was
// applied last, which is what it is destroyed with when its source is gone, and what its run in hand and its pending
// plan were made of.
func Artifacts(ctx context.Context, records Records, obj *infrav1.Terraform) ([]string, error) {
	var digests []string
	if files, ok := obj.InlineProgram(); ok {
		// One that cannot be packed is in no store.
		if digest, err := archive.PackInline(files, io.Discard); err == nil {
			digests = append(digests, digest)
		}
	}
	status := &obj.Status
	if a := status.LastAppliedArtifact; a != nil {
		digests = append(digests, a.Digest)
	}
	ids := []string{status.LastAppliedRun, status.Plan.RunID}
	if status.CurrentRun != nil {
		ids = append(ids, status.CurrentRun.ID)
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		rec, err := records.Record(ctx, run.StackOf(obj), id)
		switch {
		case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
			continue // nothing is ever done with such a run again
		case err != nil:
			return nil, fmt.Errorf("read run %s of %s/%s for the archive it was made of: %w", id, obj.Namespace, obj.Name, err)
		}
		digests = append(digests, rec.Spec.Artifact.Digest)
	}
	return digests, nil
}
