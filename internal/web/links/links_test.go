// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

func TestAbout(t *testing.T) {
	is := metav1.ObjectMeta{Namespace: "apps", Name: "vpc"}
	stack := func(pending, last, current string) *infrav1.Terraform {
		s := &infrav1.Terraform{ObjectMeta: is}
		s.Status.Plan.Pending = pending
		if last != "" {
			s.Status.LastRun = &infrav1.RunReference{ID: last}
		}
		if current != "" {
			s.Status.CurrentRun = &infrav1.RunReference{ID: current}
		}
		return s
	}
	for sentence, test := range map[string]struct {
		object client.Object
		reason string
		want   string
	}{
		"a plan that waits":                         {stack("plan-1", "r1", ""), infrav1.ReasonPlanSucceeded, "/stacks/apps/vpc/plan"},
		"drift whose repair waits":                  {stack("plan-1", "r1", ""), infrav1.ReasonDriftDetected, "/stacks/apps/vpc/plan"},
		"drift that nobody repairs":                 {stack("", "r1", ""), infrav1.ReasonDriftDetected, "/stacks/apps/vpc/runs/r1"},
		"a plan that was spent before the event":    {stack("", "r1", ""), infrav1.ReasonPlanSucceeded, "/stacks/apps/vpc"},
		"a run that begins":                         {stack("plan-1", "r1", "r2"), infrav1.ReasonProgressing, "/stacks/apps/vpc/runs/r2"},
		"a run that failed":                         {stack("", "r1", ""), infrav1.ReasonApplyFailed, "/stacks/apps/vpc/runs/r1"},
		"an apply":                                  {stack("", "r1", ""), infrav1.ReasonApplied, "/stacks/apps/vpc/runs/r1"},
		"a failure before there was a run":          {stack("", "", ""), infrav1.ReasonInitFailed, "/stacks/apps/vpc"},
		"outputs":                                   {stack("", "r1", ""), infrav1.ReasonOutputsAvailable, "/stacks/apps/vpc/outputs"},
		"a stack that waits for another one":        {stack("", "r1", ""), infrav1.ReasonDependencyNotReady, "/stacks/apps/vpc"},
		"a name that needs escaping":                {&infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b/../c?d"}}, "", "/stacks/a/b%2F..%2Fc%3Fd"},
		"a Kustomization":                           {&kustomizev1.Kustomization{ObjectMeta: is}, "BuildFailed", "/sources/kustomization/apps/vpc"},
		"a source":                                  {&sourcev1.OCIRepository{ObjectMeta: is}, "NewArtifact", "/sources/ocirepository/apps/vpc"},
		"an outage":                                 {&yubav1.CircuitBreaker{}, "Opened", "/operations/outages"},
		"an object that has no page on this server": {&notificationv1.Receiver{ObjectMeta: is}, "", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := About(test.object, test.reason); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
