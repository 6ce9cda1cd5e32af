// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// A second stack of the same resources would be a second owner.
func TestAHandedOverStackIsNotMadeAgain(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
	for _, phase := range all {
		w.becomes("acme-eu-"+phase, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	}
	w.await(p, yubav1.ReasonPlatformReady, "")
	stack := w.stack("acme-eu-vault")
	before := stack.DeepCopy()
	stack.Spec.Suspend = true
	stack.Annotations = map[string]string{moving.AnnotationHandedOver: moving.Handover{Phase: moving.PhaseDone, Owner: "the team"}.Text()}
	if err := w.Patch(t.Context(), stack, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.await(p, yubav1.ReasonPlatformAway, "Handed over to the team")
	if s := w.stack("acme-eu-vault"); !s.Spec.Suspend {
		t.Error("the platform has changed it")
	}
	if err := w.Delete(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	// A pass after the deletion: the change has arrived at another stack.
	w.change(p, func(s *yubav1.PlatformSpec) { s.Approval = yubav1.ApprovalAuto })
	w.eventually("the platform has made a pass", func() string {
		if got := w.stack("acme-eu-network").Spec.ApprovePlan; got != "auto" {
			return got
		}
		return ""
	})
	if w.stack("acme-eu-vault") != nil {
		t.Error("the stack was made again")
	}
}
