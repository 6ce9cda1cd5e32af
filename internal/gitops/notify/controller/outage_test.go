// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func outageOf(concerns string) *yubav1.CircuitBreaker {
	return &yubav1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: "aws-unavailable", Annotations: map[string]string{yubav1.AnnotationConcerns: concerns}}}
}

// An outage has no namespace: alerts of affected stacks' namespaces and of administrators match.
func TestWhoIsToldOfAnOutage(t *testing.T) {
	e, err := newEvent(kubetest.Scheme(), outageOf("blue,green"), corev1.EventTypeWarning, "CircuitOpen", "It is out", "yuba", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string]bool{"blue": true, "green": true, "default": true, "red": false} {
		alert := &notificationv1beta3.Alert{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: notificationv1beta3.AlertSpec{
			EventSources: []notificationv1.CrossNamespaceObjectReference{{Kind: "CircuitBreaker", Name: "*"}}}}
		if got := wants(alert, &e, false); got != want {
			t.Errorf("notified in %s: %v, want %v", namespace, got, want)
		}
		alert.Spec.EventSources[0].Kind = "Terraform"
		if wants(alert, &e, false) {
			t.Errorf("in %s, an alert about stacks matches", namespace)
		}
	}
	more, err := newEvent(kubetest.Scheme(), outageOf("yellow"), corev1.EventTypeWarning, "CircuitOpen", "It is out", "yuba", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if eventKey(e.Event) == eventKey(more.Event) {
		t.Error("an equal message for another namespace counts as the same event")
	}
	sent := enrich(e.Event, &notificationv1beta3.Alert{})
	for name, value := range sent.Metadata {
		t.Errorf("%s contains other namespaces' names: %s", name, value)
	}
}

type silent struct{}

func (silent) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// A paused stack's failures are reported by its circuit breaker only; other events are sent.
func TestPausedStacksAreSilent(t *testing.T) {
	for sentence, c := range map[string]struct {
		paused   bool
		severity string
		told     bool
	}{
		"a failure":                 {false, corev1.EventTypeWarning, true},
		"a failure while paused":    {true, corev1.EventTypeWarning, false},
		"good news of a paused one": {true, corev1.EventTypeNormal, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "vpc"}}
			if c.paused {
				stack.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionPaused, Status: metav1.ConditionTrue}}
			}
			told := false
			r := NewRecorder(silent{}, kubetest.Scheme(), func(Event) { told = true })
			r.Eventf(stack, nil, c.severity, "TFExecPlanFailed", "Ready", "it is out")
			if told != c.told {
				t.Errorf("notified is %v, want %v", told, c.told)
			}
		})
	}
}

// An API with this kind accepts alerts about it.
func TestAlertsMayBeAboutOutages(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	alert := alertIn(namespace, "CircuitBreaker")
	w.create(t, alert)
	if problems := checkAlert(alert, false); len(problems) != 0 {
		t.Errorf("%q", problems)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(alert), alert); err != nil {
		t.Fatal(err)
	}
}
