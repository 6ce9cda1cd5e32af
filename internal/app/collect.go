// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/blob"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/controller"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

const (
	// collectEvery is the interval of collections. The first one comes that long after the start,
	// when interrupted clients have resumed their work.
	collectEvery = time.Hour
	// artifactGrace is how long an unreferenced archive is kept.
	artifactGrace = time.Hour
)

// collector deletes source archives without references.
type collector struct {
	reader client.Reader
	scheme *runtime.Scheme
	blobs  *blob.Store
	runs   interface {
		reads.Records
		Artifacts() []string
	}
	// kinds are the kinds of sources that the API serves.
	kinds []string
}

// collect deletes unreferenced archives. If it cannot read all references, it deletes nothing.
func (c *collector) collect(ctx context.Context, grace time.Duration) (blob.Collected, error) {
	referred := map[string]bool{}
	refer := func(digest string) { referred[digest] = true }
	for _, digest := range c.runs.Artifacts() {
		refer(digest)
	}
	if err := reads.Referred(ctx, c.reader, c.runs, refer); err != nil {
		return blob.Collected{}, err
	}
	// Read sources last: if a stack takes over an archive from a source during this, the archive is
	// still in the source, or was just used.
	if err := sources.Referred(ctx, c.reader, c.scheme, c.kinds, refer); err != nil {
		return blob.Collected{}, err
	}
	return c.blobs.CollectArtifacts(ctx, func(digest string) bool { return referred[digest] }, time.Now().Add(-grace))
}

// collectGarbage runs all collections at intervals until ctx ends.
func (e *engine) collectGarbage(ctx context.Context, c *collector) error {
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		done, err := c.collect(ctx, artifactGrace)
		if err != nil && ctx.Err() == nil {
			e.opts.Log.Error("deleting unreferenced source archives failed", "error", err)
		}
		if done.Deleted > 0 {
			e.opts.Log.Info("deleted unreferenced source archives", "archives", done.Deleted, "bytes", done.Bytes, "kept", done.Kept)
		}
		for _, collect := range e.collects {
			if err := collect(ctx); err != nil && ctx.Err() == nil {
				e.opts.Log.Error("deleting unused data failed", "error", err)
			}
		}
	}
}
