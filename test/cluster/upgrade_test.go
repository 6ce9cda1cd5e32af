// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// An upgrade that changes the runners lets the old ones finish their runs, and gives them no other.
func TestAnUpgradeLetsRunsFinish(t *testing.T) {
	tm := newTeam(t, false)
	tm.deploy("slow", slow, nil)
	began := tm.await("slow", "it applies", applying).Status.CurrentRun.ID
	before := tm.onlyPod()
	upgrade := func(memory string) {
		command(t, "../../bin/helm", "upgrade", "yuba", "../../charts/yuba", "--namespace", system, "--kubeconfig", *kubeconfig,
			"--reuse-values", "--wait", "--timeout", "2m", "--set", "runner.resources.requests.memory="+memory)
	}
	upgrade("33Mi")
	t.Cleanup(func() { upgrade("32Mi") })
	obj := tm.await("slow", "it is applied", applied)
	if obj.Status.LastRun.ID != began || obj.Status.LastRun.Status != string(run.OutcomeSucceeded) {
		t.Errorf("run %s began, and the last run is %+v", began, obj.Status.LastRun)
	}
	tm.deploy("next", small, nil)
	tm.await("next", "another Pod applies it", func(obj *infrav1.Terraform) string {
		if missing := applied(obj); missing != "" {
			return missing
		}
		for _, p := range tm.pods() {
			if p.UID == before.UID {
				return "Pod " + p.Name + " is still there"
			}
		}
		return ""
	})
}
