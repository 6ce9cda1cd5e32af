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
	// collectEvery is how often what nobody needs is thrown away. It begins that long after the start: by then whoever
	// was interrupted by the end of the server before has come back to what it had in hand.
	collectEvery = time.Hour
	// artifactGrace is how long an archive is kept that nobody refers to.
	artifactGrace = time.Hour
)

// collector throws away source archives that nobody refers to.
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

// collect throws away what can be. If it cannot be found out who refers to what, nothing is.
func (c *collector) collect(ctx context.Context, grace time.Duration) (blob.Collected, error) {
	referred := map[string]bool{}
	for _, digest := range c.runs.Artifacts() {
		referred[digest] = true
	}
	if err := c.stacks(ctx, referred); err != nil {
		return blob.Collected{}, err
	}
	// Sources come last: an archive that a stack has taken over from one meanwhile is still the source's then, or was used
	// just now.
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
			return fmt.Errorf("list the stacks for the archives they refer to: %w", err)
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

// collectGarbage throws away what nobody needs, every now and then, until ctx ends.
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
			e.opts.Log.Error("collecting source archives that nobody needs", "error", err)
		}
		if done.Deleted > 0 {
			e.opts.Log.Info("source archives that nobody needs are gone", "archives", done.Deleted, "bytes", done.Bytes, "kept", done.Kept)
		}
		for _, collect := range e.collects {
			if err := collect(ctx); err != nil && ctx.Err() == nil {
				e.opts.Log.Error("collecting what nobody needs", "error", err)
			}
		}
	}
}
