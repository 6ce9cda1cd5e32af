// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Only the runner has a program's remote modules. Until a run reports that they cannot change or
// read more of the source, the whole archive counts. The report is valid for the planned
// configuration: its digest covers the calls and their targets.

// Bounds for the status.
const (
	maxModulesWorld = 10
	maxModulesText  = 300
)

// Settle makes the part of the source count for a program with settled remote modules.
func (c *Configuration) Settle(obj *infrav1.Terraform) {
	calls := c.part.elsewhere
	if len(calls) == 0 {
		return
	}
	why := ""
	if c.part.digest != "" {
		c.Settled = c.Digest
		if why = unsettled(obj, obj.Status.Modules, c.Settled); why == "" {
			c.part.world = slices.Concat(c.part.world, obj.Status.Modules.World)
			c.part.loose = obj.Status.Modules.Moves != ""
			return
		}
		c.Digest, c.Whole = c.Whole, ""
		c.part.unsettled = c.part.digest
		c.part.digest, c.part.why = "", fmt.Sprintf("%s: the module %q is not in the source: %s", calls[0].Pos, calls[0].Name, why)
	}
	c.part.world = slices.Clone(c.part.world)
	for _, call := range calls {
		c.part.world = append(c.part.world, call.String())
	}
}

// OnlyModules reports whether only the targets of remote modules can differ from the last plan.
func (c *Configuration) OnlyModules(obj *infrav1.Terraform) bool {
	m := obj.Status.Modules
	return c.Settled != "" && m != nil && m.ConfigDigest == c.Settled && m.Whole == "" && m.Moves != "" && m.Placed != "" && inOrder(obj)
}

// inOrder reports whether nothing has failed since the last run. A dependency that is not ready
// does not count: after a commit, most of a chain of stacks waits for one.
func inOrder(obj *infrav1.Terraform) bool {
	ready, last := conditions.Of(obj, infrav1.ConditionReady), obj.Status.LastRun
	return ready.Status == metav1.ConditionTrue ||
		ready.Reason == infrav1.ReasonDependencyNotReady && last != nil && last.Status == string(run.OutcomeSucceeded)
}

// unsettled says why remote modules may change an unchanged configuration's plan; else empty.
func unsettled(obj *infrav1.Terraform, m *infrav1.ModulesStatus, config string) string {
	switch {
	case m == nil || m.ConfigDigest != config:
		return "no plan of this configuration took it from the module cache"
	case m.Whole != "":
		return m.Whole
	case m.Moves != "" && obj.UpgradesOnInit():
		return fmt.Sprintf("%s is not pinned to a commit or version, and upgradeOnInit looks for newer ones", m.Moves)
	}
	return ""
}

// LearnModules records a run's findings about remote modules. If they are settled, the planned
// configuration is that of the part, regardless of later commits to other files.
func LearnModules(obj *infrav1.Terraform, rec run.Record) {
	if rec.UsedKept {
		return
	}
	status := &obj.Status
	known := status.Modules
	switch found := rec.Result.Modules; {
	case rec.SettledConfig == "":
		status.Modules = nil
	case found != nil:
		status.Modules = &infrav1.ModulesStatus{ConfigDigest: rec.SettledConfig, Moves: toldInShort(found.Moves), Whole: toldInShort(found.Whole),
			Placed: toldInShort(found.Placed)}
		if known != nil && rec.Spec.Operation == run.OperationApply && found.Placed != known.Placed {
			// The plan was made with the earlier modules, and so was the apply.
			status.Modules.Placed = ""
		}
		for _, what := range found.World[:min(len(found.World), maxModulesWorld)] {
			status.Modules.World = append(status.Modules.World, toldInShort(what))
		}
	case known == nil || known.ConfigDigest != rec.SettledConfig || known.Moves != "":
		status.Modules = nil
	}
	if rec.SettledConfig != "" && status.ConfigDigest == rec.Config && unsettled(obj, status.Modules, rec.SettledConfig) == "" {
		status.ConfigDigest = rec.SettledConfig
	}
}

func toldInShort(text string) string { return shorten.CutBytes(text, maxModulesText) }
