// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// completedRuns is the number of runs that a shell offers.
const completedRuns = 20

// The completions of the argument after the name of a stack.
var (
	runIDs session.StackWords = func(ctx context.Context, s *session.Session, key types.NamespacedName) ([]cobra.Completion, error) {
		return recentRuns(ctx, s, key, func(run.Record) bool { return true })
	}
	openRunIDs session.StackWords = func(ctx context.Context, s *session.Session, key types.NamespacedName) ([]cobra.Completion, error) {
		return recentRuns(ctx, s, key, func(r run.Record) bool { return r.Result == nil })
	}
	pendingPlan = session.OfStatus(func(status infrav1.TerraformStatus) []cobra.Completion {
		return session.WordOrNone(status.Plan.Pending)
	})
	unprovenAddresses = session.OfStatus(func(status infrav1.TerraformStatus) (found []cobra.Completion) {
		if status.Unproven == nil {
			return nil
		}
		for _, r := range status.Unproven.Resources {
			found = append(found, cmp.Or(r.Match, r.Address))
		}
		return found
	})
	unprovenRuns = session.OfStatus(func(status infrav1.TerraformStatus) (found []cobra.Completion) {
		if status.Unproven == nil {
			return nil
		}
		for _, r := range status.Unproven.Runs {
			found = append(found, r.ID)
		}
		return found
	})
)

// recentRuns lists the last wanted runs of a stack, each with its title.
func recentRuns(ctx context.Context, s *session.Session, key types.NamespacedName, wanted func(run.Record) bool) ([]cobra.Completion, error) {
	list, err := s.Content.Runs(ctx, key.Namespace, key.Name, completedRuns)
	var found []cobra.Completion
	for _, r := range list.Items {
		if wanted(r) {
			found = append(found, cobra.CompletionWithDesc(r.Spec.ID, r.Spec.Title()))
		}
	}
	return found, err
}
