// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/backend/pod"
)

// The limit of the talk "Terraform at reasonable scale"; only "values" is indented correctly.
const (
	terraformClass = `
apiVersion: scheduling.k8s.io/v1
description: used to limit the number of terraform runners
kind: PriorityClass
metadata:
  name: terraform
value: 0 # same priority as everybody else
`
	terraformRunners = `
apiVersion: v1
kind: ResourceQuota
metadata:
  name: terraform-runners
spec:
  hard:
    pods: "10"
  scopeSelector:
    matchExpressions:
    - operator: In
      scopeName: PriorityClass
      values:
      - terraform
`
)

// A PriorityClass and a ResourceQuota limit the runner Pods of a namespace to ten. The other stacks
// say why they wait, and are applied when a Pod ends.
func TestAQuotaOfAPriorityClassLimitsRunners(t *testing.T) {
	tm := newTeam(t, false)
	class, quota := &schedulingv1.PriorityClass{}, &corev1.ResourceQuota{}
	must(t, yaml.UnmarshalStrict([]byte(terraformClass), class))
	must(t, yaml.UnmarshalStrict([]byte(terraformRunners), quota))
	if err := api.Create(t.Context(), class); !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	tm.create(quota)
	const stacks, limit = 13, 10
	for i := range stacks {
		tm.deploy(fmt.Sprintf("stack-%d", i), `
resource "terraform_data" "x" {
  provisioner "local-exec" { command = "sleep 10" }
}`, func(s *infrav1.TerraformSpec) {
			s.DedicatedRunnerPod = true
			s.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{PriorityClassName: "terraform"}}
		})
	}
	most, waited := 0, false
	eventually(t, "all stacks are applied", func() string {
		var pods corev1.PodList
		must(t, api.List(t.Context(), &pods, client.InNamespace(tm.name), client.MatchingLabels{pod.LabelName: pod.Name}))
		counted := 0
		for i := range pods.Items { // as quotas count
			if phase := pods.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
				counted++
			}
		}
		most = max(most, counted)
		var list infrav1.TerraformList
		must(t, api.List(t.Context(), &list, client.InNamespace(tm.name)))
		left := 0
		for i := range list.Items {
			if applied(&list.Items[i]) != "" {
				left++
			}
			message := conditions.Of(&list.Items[i], infrav1.ConditionReady).Message
			waited = waited || strings.Contains(message, "the quota of namespace "+tm.name+" leaves no room for another Pod")
		}
		if left > 0 {
			return fmt.Sprintf("%d are not", left)
		}
		return ""
	})
	if most != limit || !waited {
		t.Errorf("there were %d Pods at most, want %d; a stack said that it waits for the quota: %t", most, limit, waited)
	}
}
