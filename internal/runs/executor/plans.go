// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// A run has one plan, the first one. Everything that belongs to it arrives with the digest of the
// plan's file.

// otherPlanError reports that something belongs to another plan than the run's.
type otherPlanError struct{ id, is, want string }

func (e *otherPlanError) Error() string {
	return fmt.Sprintf("run %s: this belongs to plan %s, but the run's plan is %s. A fresh plan is needed", e.id, e.is, e.want)
}

// isOf verifies that something belongs to the run's plan. Older runners send no digest.
func (en *entry) isOf(digest string) error {
	if digest == "" {
		return nil
	}
	if en.plan.CompareAndSwap(nil, &digest) {
		en.change(func(rec *run.Record) { rec.PlanDigest = digest })
		return nil
	}
	if want := *en.plan.Load(); want != digest {
		return &otherPlanError{id: en.id, is: digest, want: want}
	}
	return nil
}

// takePlan stores a plan, or a readable form of it, below the run's own id.
func (p *protocol) takePlan(part string) serve {
	return func(en *entry, w http.ResponseWriter, r *http.Request) (any, error) {
		digest := r.Header.Get(run.HeaderPlanDigest)
		if err := en.isOf(digest); err != nil {
			return nil, err
		}
		hash := sha256.New()
		body := io.TeeReader(http.MaxBytesReader(w, r.Body, en.spec.Limits.PlanBytes), hash)
		if err := p.opts.Blobs.Put(r.Context(), en.stack.Key(en.id, part), body); err != nil {
			return nil, err
		}
		sum := hex.EncodeToString(hash.Sum(nil))
		if part == run.BlobPlan {
			if err := en.isOf("sha256:" + sum); err != nil {
				return nil, errors.Join(err, p.opts.Blobs.Delete(r.Context(), en.stack.Key(en.id, part)))
			}
		}
		en.change(func(rec *run.Record) {
			sums := map[string]string{part: sum}
			for name, of := range rec.PlanSums {
				if name != part {
					sums[name] = of
				}
			}
			rec.PlanSums = sums
		})
		return nil, nil
	}
}

// onePlan turns the result of another plan into a failure, so that the plan is not applied.
func (en *entry) onePlan(result *run.Result) {
	if result.Plan == nil || result.Outcome != run.OutcomeSucceeded {
		return
	}
	if err := en.isOf(result.Plan.Digest); err != nil {
		result.Outcome, result.Class, result.Error = run.OutcomeFailed, run.FailureStalePlan, err.Error()
	}
}

// refuseOther refuses a question about another plan than the run's.
func (en *entry) refuseOther(req run.ContinueRequest) *run.ContinueResponse {
	if req.Plan == nil {
		return nil
	}
	if err := en.isOf(req.Plan.Digest); err != nil {
		return refuse(run.OutcomeFailed, run.FailureStalePlan, err.Error())
	}
	return nil
}
