// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// passOver is a pass over an idle stack, at any stage.
func passOver(obj *infrav1.Terraform) *acted {
	p := &acted{}
	p.pass = pass{obj: obj, before: obj.DeepCopy(), stack: run.StackOf(obj), now: finished}
	p.decision.Verb = decide.VerbRest
	return p
}

// describeAs makes the pass describe a decision.
func (p *acted) describeAs(d decide.Decision) {
	p.decision = d
	describe(p)
}
