// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// contracts checks the outputs of a speculative plan against the contracts that the stack publishes.
func (t *tries) contracts(ctx context.Context, owner run.Stack, manifest []byte, planned *speculative.Planned, destroy bool) ([]speculative.Contract, error) {
	if t.judges == nil {
		return nil, nil
	}
	obj, err := t.stack(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, manifest)
	if err != nil || !contracts.Publishes(obj) {
		return nil, err
	}
	verdicts, err := t.judges.Judge(ctx, obj, planned.Changes, destroy)
	var list []speculative.Contract
	for _, v := range verdicts {
		one := speculative.Contract{Name: v.Contract, Outcome: contractOutcome(v.Outcome), Message: v.Message}
		for _, h := range v.Broken {
			one.Broken = append(one.Broken, speculative.Harm{Consumer: h.Consumer, Version: h.Version, Path: h.Path, Says: h.Says})
		}
		list = append(list, one)
	}
	return list, err
}

func contractOutcome(o infrav1.ContractOutcome) string {
	switch o {
	case infrav1.ContractFits:
		return speculative.ContractFits
	case infrav1.ContractBreaks:
		return speculative.ContractBreaks
	}
	return speculative.ContractUnknown
}
