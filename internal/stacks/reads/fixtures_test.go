// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

var finished = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// stackObject is a stack in its second generation.
func stackObject(change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc", UID: "uid-1", Generation: 2}}
	for _, c := range change {
		c(obj)
	}
	return obj
}

// ofAcme makes the Tenant acme-web the stack's owner.
func ofAcme(t *infrav1.Terraform) {
	t.Labels = map[string]string{tenantv1.LabelUID: "acme"}
	t.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind, Name: "acme-web", UID: "tenant-1"}}
}

func setReady(obj *infrav1.Terraform, status metav1.ConditionStatus, reason string) {
	conditions.Set(obj, infrav1.ConditionReady, status, reason, "told by a test")
}

// record makes a stack's status show a plan without changes.
func record(obj *infrav1.Terraform, rec run.Record) {
	obj.Status.LastRun = &infrav1.RunReference{ID: "r1", Status: string(rec.Result.Outcome)}
	obj.Status.ConfigDigest = rec.Config
	LearnModules(obj, rec)
	setReady(obj, metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges)
}
