// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// aboutRun are the reasons of events about the run that ended last.
var aboutRun = map[string]bool{
	infrav1.ReasonNewFailed: true, infrav1.ReasonInitFailed: true, infrav1.ReasonSelectWorkspaceFailed: true,
	infrav1.ReasonPlanFailed: true, infrav1.ReasonDriftDetected: true, infrav1.ReasonDriftDetectionFailed: true,
	infrav1.ReasonApplied: true, infrav1.ReasonApplyFailed: true, infrav1.ReasonApplyCutOff: true,
	infrav1.ReasonDestroyed: true, infrav1.ReasonDestroyFailed: true, infrav1.ReasonOutputFailed: true,
	infrav1.ReasonRunCanceled: true, infrav1.ReasonRunInterrupted: true,
}

// aboutPlan are the reasons of events about the plan that waits.
var aboutPlan = map[string]bool{
	infrav1.ReasonPlanSucceeded: true, infrav1.ReasonPlannedWithChanges: true, infrav1.ReasonDriftDetected: true,
	infrav1.ReasonPostPlanningWebhookFailed: true, infrav1.ReasonPolicyRefused: true,
}

// aboutOutputs are the reasons of events about outputs.
var aboutOutputs = map[string]bool{
	infrav1.ReasonOutputsAvailable: true, infrav1.ReasonOutputsWritten: true, infrav1.ReasonOutputsWritingFailed: true,
}

// About returns the path of the page about an event of an object with a reason: a stack's plan, run
// or outputs if the event is about them, else the object's page. It is empty if the object has no page.
func About(o client.Object, reason string) string {
	switch o := o.(type) {
	case *infrav1.Terraform:
		return site.Path(append([]string{"stacks", o.Namespace, o.Name}, within(&o.Status, reason)...)...)
	case *kustomizev1.Kustomization:
		return source(kustomizev1.KustomizationKind, o)
	case *sourcev1.GitRepository:
		return source(sourcev1.GitRepositoryKind, o)
	case *sourcev1.OCIRepository:
		return source(sourcev1.OCIRepositoryKind, o)
	case *sourcev1.Bucket:
		return source(sourcev1.BucketKind, o)
	case *sourcev1.ExternalArtifact:
		return source(sourcev1.ExternalArtifactKind, o)
	case *yubav1.CircuitBreaker:
		return "/operations/outages"
	}
	return ""
}

// within is where a stack's event leads, below the stack's page.
func within(s *infrav1.TerraformStatus, reason string) []string {
	switch {
	case aboutPlan[reason] && s.Plan.Pending != "":
		return []string{"plan"}
	case reason == infrav1.ReasonProgressing && s.CurrentRun != nil:
		return []string{"runs", s.CurrentRun.ID}
	case aboutRun[reason] && s.LastRun != nil:
		return []string{"runs", s.LastRun.ID}
	case aboutOutputs[reason]:
		return []string{"outputs"}
	}
	return nil
}

func source(kind string, o client.Object) string {
	return site.Path("sources", strings.ToLower(kind), o.GetNamespace(), o.GetName())
}
