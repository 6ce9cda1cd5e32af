// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// reviewing is one review of a plan. Who asks again while it goes on waits for the same answer.
type reviewing struct {
	done   chan struct{}
	answer Permission
	err    error
}

// errReviewing lets a runner ask again: its connections do not wait for ever.
var errReviewing = errors.New("the review of the plan is not over yet")

// review answers whether a plan may be kept or applied. It holds no lock, for a review takes as long as those who are
// asked.
func (e *Executor) review(ctx context.Context, en *entry, req run.ContinueRequest) (run.ContinueResponse, error) {
	if e.opts.Review == nil {
		return *refuse(run.OutcomeFailed, run.FailureRefused, "this server reviews no plans"), nil
	}
	en.mu.Lock()
	rec, r := en.record(), en.review
	if r == nil {
		r = &reviewing{done: make(chan struct{})}
		en.review = r
		go func() {
			defer close(r.done)
			// The answer is for whoever asks next, when the one who asks now has gone.
			r.answer, r.err = e.opts.Review(context.WithoutCancel(ctx), rec, req.Plan)
		}()
	}
	en.mu.Unlock()
	patience := time.NewTimer(run.PollWait)
	defer patience.Stop()
	select {
	case <-r.done:
	case <-patience.C:
		return run.ContinueResponse{}, errReviewing
	case <-ctx.Done():
		return run.ContinueResponse{}, ctx.Err()
	}
	switch {
	case r.err != nil:
		en.mu.Lock()
		defer en.mu.Unlock()
		if en.review == r {
			en.review = nil // nobody answered: that is asked again
		}
		return run.ContinueResponse{}, r.err
	case r.answer.Go:
		return run.ContinueResponse{Go: true}, nil
	}
	return *refuse(run.OutcomeFailed, run.FailureRefused, r.answer.Reason), nil
}

// ReadPart reads one of the blobs that a run left, such as run.BlobPlanText; run.ErrNotFound when it left none.
func (e *Executor) ReadPart(ctx context.Context, stack run.Stack, id, part string) ([]byte, error) {
	data, err := e.opts.Blobs.Get(ctx, stack.Key(id, part), planJSONLimit)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, &NotFoundError{Stack: stack, RunID: id}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of run %s of %s: %w", part, id, stack, err)
	}
	return data, nil
}
