// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// completedRuns is how many of the last runs a shell offers.
const completedRuns = 20

// What completion offers for the word after the name of a stack.
var (
	outputNames stackWords = func(ctx context.Context, s *session, key types.NamespacedName) ([]cobra.Completion, error) {
		outputs, err := s.content.Outputs(ctx, key.Namespace, key.Name)
		return slices.Sorted(maps.Keys(outputs)), err
	}
	runIDs stackWords = func(ctx context.Context, s *session, key types.NamespacedName) ([]cobra.Completion, error) {
		return s.runIDs(ctx, key, func(run.Record) bool { return true })
	}
	openRunIDs stackWords = func(ctx context.Context, s *session, key types.NamespacedName) ([]cobra.Completion, error) {
		return s.runIDs(ctx, key, func(r run.Record) bool { return r.Result == nil })
	}
	pendingPlan       = ofStatus(func(status infrav1.TerraformStatus) []cobra.Completion { return known(status.Plan.Pending) })
	foreignLock       = ofStatus(func(status infrav1.TerraformStatus) []cobra.Completion { return known(status.Lock.Pending) })
	unprovenAddresses = ofStatus(func(status infrav1.TerraformStatus) (found []cobra.Completion) {
		if status.Unproven == nil {
			return nil
		}
		for _, r := range status.Unproven.Resources {
			found = append(found, cmp.Or(r.Match, r.Address))
		}
		return found
	})
	unprovenRuns = ofStatus(func(status infrav1.TerraformStatus) (found []cobra.Completion) {
		if status.Unproven == nil {
			return nil
		}
		for _, r := range status.Unproven.Runs {
			found = append(found, r.ID)
		}
		return found
	})
	stateVersions stackWords = func(ctx context.Context, s *session, key types.NamespacedName) ([]cobra.Completion, error) {
		list, err := s.content.Versions(ctx, key.Namespace, key.Name)
		found := make([]cobra.Completion, 0, len(list.Items))
		for _, v := range list.Items {
			found = append(found, cobra.CompletionWithDesc(v.ID, v.Reason))
		}
		return found, err
	}
	stateAddresses stackWords = func(ctx context.Context, s *session, key types.NamespacedName) ([]cobra.Completion, error) {
		file, err := s.stateFile(ctx, key, "")
		if err != nil {
			return nil, err
		}
		var found []cobra.Completion
		for _, r := range file.Resources {
			found = append(found, r.Address)
		}
		return found, nil
	}
)

// ofStatus finds words in a stack's status.
func ofStatus(words func(infrav1.TerraformStatus) []cobra.Completion) stackWords {
	return func(ctx context.Context, s *session, key types.NamespacedName) ([]cobra.Completion, error) {
		t, err := s.get(ctx, key)
		if err != nil {
			return nil, err
		}
		return words(t.Status), nil
	}
}

// runIDs lists the last runs of a stack that are wanted, each with what it did.
func (s *session) runIDs(ctx context.Context, key types.NamespacedName, wanted func(run.Record) bool) ([]cobra.Completion, error) {
	list, err := s.content.Runs(ctx, key.Namespace, key.Name, completedRuns)
	var found []cobra.Completion
	for _, r := range list.Items {
		if wanted(r) {
			found = append(found, cobra.CompletionWithDesc(r.Spec.ID, r.Spec.Title()))
		}
	}
	return found, err
}

// known is one word, or none.
func known(word string) []cobra.Completion {
	if word == "" {
		return nil
	}
	return []cobra.Completion{word}
}
