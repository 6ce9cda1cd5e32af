// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// The completions for parts of a state.
var (
	outputNames session.StackWords = func(ctx context.Context, s *session.Session, key types.NamespacedName) ([]cobra.Completion, error) {
		outputs, err := s.Content.Outputs(ctx, key.Namespace, key.Name)
		return slices.Sorted(maps.Keys(outputs)), err
	}
	foreignLock = session.OfStatus(func(status infrav1.TerraformStatus) []cobra.Completion {
		return session.WordOrNone(status.Lock.Pending)
	})
	stateVersions session.StackWords = func(ctx context.Context, s *session.Session, key types.NamespacedName) ([]cobra.Completion, error) {
		list, err := s.Content.Versions(ctx, key.Namespace, key.Name)
		found := make([]cobra.Completion, 0, len(list.Items))
		for _, v := range list.Items {
			found = append(found, cobra.CompletionWithDesc(v.ID, v.Reason))
		}
		return found, err
	}
	stateAddresses session.StackWords = func(ctx context.Context, s *session.Session, key types.NamespacedName) ([]cobra.Completion, error) {
		file, err := stateFile(ctx, s, key, "")
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
