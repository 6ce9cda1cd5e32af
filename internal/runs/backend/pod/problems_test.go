// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

var pods = schema.GroupResource{Resource: "pods"}

// The texts of the API are those of Kubernetes 1.36.
func TestRefusalsSayWhatToDo(t *testing.T) {
	forbidden := func(text string) error { return apierrors.NewForbidden(pods, "yuba-runner-x", errors.New(text)) }
	for text, want := range map[string]struct {
		err  error
		want string
	}{
		"quota":    {forbidden("exceeded quota: ten, requested: pods=1, used: pods=10, limited: pods=10"), "the quota of namespace team leaves no room for another Pod (exceeded quota: ten, "},
		"account":  {forbidden("error looking up service account team/tf-runner: serviceaccount \"tf-runner\" not found"), "namespace team has no service account tf-runner. Create it, or set spec.serviceAccountName"},
		"security": {forbidden("violates PodSecurity \"restricted:latest\": hostPath volumes (volume \"x\")"), "the Pod Security Standard of namespace team refuses spec.runnerPodTemplate (violates PodSecurity \"restricted:latest\": hostPath"},
		"rights":   {forbidden("User \"system:serviceaccount:yuba-system:yuba\" cannot create resource \"pods\" in API group \"\" in the namespace \"team\""), "Yuba may not create Pods in namespace team. Add the namespace"},
		"invalid":  {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil), "the API refuses spec.runnerPodTemplate"},
		"other":    {errors.New("connection refused"), "the API does not create it: connection refused"},
	} {
		if got := refusal(&run.Place{Namespace: "team", ServiceAccount: "tf-runner"}, want.err); !strings.HasPrefix(got, want.want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestObstacles(t *testing.T) {
	now := time.Now()
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: Container, Image: "i:1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}
	}
	for sentence, test := range map[string]struct {
		status corev1.PodStatus
		age    time.Duration
		want   string
	}{
		"it starts":                  {waiting("ContainerCreating", ""), time.Second, ""},
		"the image is missing":       {waiting("ErrImagePull", "not found"), time.Second, "Pod p cannot pull the image i:1: not found"},
		"a Secret is missing":        {waiting("CreateContainerConfigError", "secret \"x\" not found"), time.Second, "container runner of Pod p does not start: CreateContainerConfigError: secret \"x\" not found"},
		"it takes long, unexplained": {corev1.PodStatus{Phase: corev1.PodPending}, time.Minute, "Pod p does not start. Its events say why: kubectl describe pod -n team p"},
		"no node takes it": {corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: "Unschedulable", Message: "0/1 nodes are available"}}}, time.Second, "no node takes Pod p: 0/1 nodes are available"},
		"it runs": {corev1.PodStatus{Phase: corev1.PodRunning}, time.Hour, ""},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", CreationTimestamp: metav1.NewTime(now.Add(-test.age))}, Status: test.status}
		if got := obstacle(p, now); got != test.want {
			t.Errorf("%s: %q", sentence, got)
		}
	}
}

func TestCauses(t *testing.T) {
	ended := func(code int32, reason, message string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p"}}
		p.Spec.Containers = []corev1.Container{{Name: Container, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("64Mi")}}}}
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: Container,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}}}
		return p
	}
	evicted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p"}, Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}}
	for want, p := range map[string]*corev1.Pod{
		"was killed in Pod p, because the run exceeded the memory limit of 64Mi. Raise spec.runnerPodTemplate.spec.resources.limits.memory": ended(137, "OOMKilled", ""),
		"ended in Pod p with exit code 1 (Error): yuba-runner: no server":                                                                   ended(1, "Error", "first\nyuba-runner: no server\n"),
		"ended with Pod p: Evicted: The node was low on resource: memory.":                                                                  evicted,
		"": ended(0, "Completed", ""),
	} {
		if got := cause(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
