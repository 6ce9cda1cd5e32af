// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// readsStacks is the cache, where there is one.
func (a stateAccess) readsStacks() client.Reader {
	if a.cache == nil {
		return a.reader
	}
	return a.cache
}

// refusedState says why a stack may not use the state that it names: workspace and suffix are the
// stack's to choose, and a former stack of its name may have been another tenant's. An unlabelled
// state is older than tenants, and allowed. The store refuses what the cache has missed.
func (a stateAccess) refusedState(ctx context.Context, obj *infrav1.Terraform) (*reads.Problem, error) {
	if obj.KeepsOwnState() {
		return nil, nil
	}
	key := stateKeyOf(obj)
	if err := key.Validate(); err != nil {
		return &reads.Problem{Reason: infrav1.ReasonInvalidName, Message: nameProblem(obj, err)}, nil
	}
	if problem := labelProblem(obj); problem != "" {
		return &reads.Problem{Reason: infrav1.ReasonInvalidName, Message: problem}, nil
	}
	if key.Scope == "" {
		return nil, nil
	}
	secret, err := stateMetadata(ctx, a.readsStacks(), obj)
	if secret == nil || err != nil {
		return nil, err
	}
	if err := key.Owned(secret.Labels); err != nil {
		return &reads.Problem{Reason: infrav1.ReasonAccessDenied, Message: err.Error(), Passing: true}, nil
	}
	return nil, nil
}
