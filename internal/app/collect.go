// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/blob"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/controller"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
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
		stacks.Records
		Artifacts() []string
	}
	// kinds are the kinds of sources that the API serves.
	kinds []string
}

// collect deletes unreferenced archives. If it cannot read all references, it deletes nothing.
func (c *collector) collect(ctx context.Context, grace time.Duration) (blob.Collected, error) {
	referred := map[string]bool{}
	for _, digest := range c.runs.Artifacts() {
		referred[digest] = true
	}
	if err := c.stacks(ctx, referred); err != nil {
		return blob.Collected{}, err
	}
	// Read sources last: an archive that a stack has taken over from a source meanwhile is still in
	// the source then, or was just used.
	if err := sources.Referred(ctx, c.reader, c.scheme, c.kinds, func(digest string) { referred[digest] = true }); err != nil {
		return blob.Collected{}, err
	}
	return c.blobs.CollectArtifacts(ctx, func(digest string) bool { return referred[digest] }, time.Now().Add(-grace))
}

func (c *collector) stacks(ctx context.Context, referred map[string]bool) error {
	next := ""
	for {
		var page infrav1.TerraformList
		if err := c.reader.List(ctx, &page, client.Limit(500), client.Continue(next)); err != nil {
			return fmt.Errorf("list the stacks for the archives that they refer to: %w", err)
		}
		for i := range page.Items {
			digests, err := stacks.Artifacts(ctx, c.runs, &page.Items[i])
			if err != nil {
				return err
			}
			for _, digest := range digests {
				referred[digest] = true
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
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
