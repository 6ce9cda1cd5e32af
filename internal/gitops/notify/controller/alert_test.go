// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func secretIn(namespace, name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}
}

func providerIn(namespace, kind, address string) *notificationv1beta3.Provider {
	return &notificationv1beta3.Provider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "service"},
		Spec: notificationv1beta3.ProviderSpec{Type: kind, Address: address}}
}

func alertIn(namespace, kind string) *notificationv1beta3.Alert {
	return &notificationv1beta3.Alert{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alert"}, Spec: notificationv1beta3.AlertSpec{
		ProviderRef: meta.LocalObjectReference{Name: "service"}, EventSources: []notificationv1.CrossNamespaceObjectReference{{Kind: kind, Name: "*"}},
		EventMetadata: map[string]string{"cluster": "test"}}}
}

func stackIn(namespace, name, revision string) *infrav1.Terraform {
	return &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1"}, Status: infrav1.TerraformStatus{LastAttemptedRevision: revision}}
}

// await records events until the dispatcher's watch knows an alert and its provider.
func (w *world) await(t *testing.T, s *sink, namespace string) {
	t.Helper()
	n := 0
	eventually(t, "the alert's being known", func() bool {
		n++
		w.recorder.Eventf(stackIn(namespace, "probe", ""), nil, "Normal", "Probe", "Probe", "probe %d", n)
		return len(s.messages()) > 0
	})
}

func told(s *sink, text string) func() bool {
	return func() bool { return slices.Contains(s.messages(), text) }
}

// An alert on stacks says what they wait for, and how to act.
func TestAlertsTellOfStacks(t *testing.T) {
	w, s, namespace := start(t), newSink(t), apitest.Namespace(t)
	w.create(t, secretIn(namespace, "service", map[string]string{"address": s.URL + "/in", "token": "t0ken", "headers": "Authorization: first"}))
	provider := providerIn(namespace, "generic-hmac", "")
	provider.Spec.SecretRef = &meta.LocalObjectReference{Name: "service"}
	w.create(t, provider, alertIn(namespace, "Terraform"))
	w.await(t, s, namespace)

	stack := stackIn(namespace, "vpc", newCommit)
	stack.Status.Plan.Pending = "plan-main-1"
	w.recorder.Eventf(stack, nil, "Normal", infrav1.ReasonPlanSucceeded, "Ready", "Plan generated: set approvePlan")
	eventually(t, "the news of the plan", told(s, "Plan generated: set approvePlan"))
	s.mu.Lock()
	e := s.got[len(s.got)-1]
	s.mu.Unlock()
	if e.Metadata["plan"] != "plan-main-1" || e.Metadata["revision"] != newCommit || e.Metadata["cluster"] != "test" || e.InvolvedObject.Kind != "Terraform" {
		t.Errorf("%+v", e)
	}
	// A repeated event and the start of a run are not sent.
	w.recorder.Eventf(stack, nil, "Normal", infrav1.ReasonPlanSucceeded, "Ready", "Plan generated: set approvePlan")
	w.recorder.Eventf(stack, nil, "Normal", infrav1.ReasonProgressing, "Plan", "Terraform Planning")
	w.recorder.Eventf(stack, nil, "Warning", infrav1.ReasonDriftDetected, "Drift", "drift")
	eventually(t, "the news of drift", told(s, "drift"))
	var own []string
	for _, m := range s.messages() {
		if !strings.HasPrefix(m, "probe") {
			own = append(own, m)
		}
	}
	if !slices.Equal(own, []string{"Plan generated: set approvePlan", "drift"}) {
		t.Errorf("%q", own)
	}

	// The Secret's current content counts.
	secret := &corev1.Secret{}
	if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "service"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["headers"] = []byte("Authorization: second")
	if err := w.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.recorder.Eventf(stack, nil, "Normal", "Applied", "Apply", "applied")
	eventually(t, "the news of the apply", told(s, "applied"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, last := s.tokens[0], s.tokens[len(s.tokens)-1]; first != "first" || last != "second" {
		t.Errorf("the headers are %s, then %s", first, last)
	}
}

// A chat gets the page's address as its link, whatever an author of objects calls the page.
func TestAlertsLeadToThePage(t *testing.T) {
	w, s, namespace := start(t), newSink(t), apitest.Namespace(t)
	w.create(t, providerIn(namespace, "slack", s.URL+"/services/x"), alertIn(namespace, "Terraform"))
	recorder := *w.recorder
	recorder.Page = func(o client.Object, reason string) string {
		return "https://yuba.example.com/stacks/" + o.GetName() + "/" + reason
	}
	stack := stackIn(namespace, "vpc", newCommit)
	stack.Annotations = map[string]string{"event.toolkit.fluxcd.io/page": "https://evil.example"}
	n := 0
	eventually(t, "the message", func() bool {
		n++ // until the watch knows the alert
		recorder.Eventf(stack, nil, "Normal", "Applied", "Apply", "applied %d", n)
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.bodies) > 0
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if body := s.bodies[0]; !strings.Contains(body, `"author_link":"https://yuba.example.com/stacks/vpc/Applied"`) || strings.Contains(body, "evil") {
		t.Error(body)
	}
}

// An outage is reported once on the alert and on the provider, without credentials.
func TestOutagesAreTold(t *testing.T) {
	w, s, namespace := start(t), newSink(t), apitest.Namespace(t)
	provider, alert := providerIn(namespace, "generic", s.URL+"/s3cret"), alertIn(namespace, "Terraform")
	w.create(t, provider, alert)
	w.await(t, s, namespace)
	s.set(http.StatusBadGateway, nil)
	w.recorder.Eventf(stackIn(namespace, "vpc", newCommit), nil, "Normal", "Applied", "Apply", "while it is down")
	var onAlert, onProvider []string
	eventually(t, "the outage's being told", func() bool {
		onAlert, onProvider = w.events(t, "Alert", alert), w.events(t, "Provider", provider)
		return len(onAlert) == 1 && len(onProvider) == 1
	})
	for _, e := range append(onAlert, onProvider...) {
		if !strings.HasPrefix(e, "Warning NotificationDispatchFailed failed to send notification for Terraform/"+namespace+"/") ||
			!strings.Contains(e, "502 Bad Gateway") || strings.Contains(e, "s3cret") {
			t.Error(e)
		}
	}
	s.set(0, nil)
	eventually(t, "the delivery", told(s, "while it is down"))
	eventually(t, "the outage's end being told", func() bool { return len(w.events(t, "Provider", provider)) == 2 })
	// A refusal is reported on the alert.
	s.set(http.StatusForbidden, nil)
	w.recorder.Eventf(stackIn(namespace, "vpc", newCommit), nil, "Normal", "Applied", "Apply", "refused")
	eventually(t, "the refusal's being told", func() bool {
		return slices.ContainsFunc(w.events(t, "Alert", alert), func(e string) bool { return strings.Contains(e, "403 Forbidden") })
	})
}

// An incomplete provider keeps its deliveries, and reports what is missing.
func TestDeliveriesWaitForTheirSecret(t *testing.T) {
	w, s, namespace := start(t), newSink(t), apitest.Namespace(t)
	provider, alert := providerIn(namespace, "generic", ""), alertIn(namespace, "Terraform")
	provider.Spec.SecretRef = &meta.LocalObjectReference{Name: "service"}
	w.create(t, provider, alert)
	n := 0
	eventually(t, "the missing Secret's being told", func() bool {
		n++
		w.recorder.Eventf(stackIn(namespace, "probe", ""), nil, "Normal", "Probe", "Probe", "probe %d", n)
		return slices.ContainsFunc(w.events(t, "Provider", provider), func(e string) bool {
			return strings.Contains(e, "spec.secretRef: there is no Secret "+namespace+"/service")
		})
	})
	w.create(t, secretIn(namespace, "service", map[string]string{"address": s.URL}))
	eventually(t, "the delivery", func() bool { return len(s.messages()) > 0 })
}

func TestWhatCannotWorkIsTold(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	provider, alert := providerIn(namespace, "telegram", "https://api.telegram.org"), alertIn(namespace, "Kustomization")
	provider.Finalizers = []string{notificationv1.NotificationFinalizer}
	alert.Spec.InclusionList = []string{"("}
	alert.Spec.EventSources = append(alert.Spec.EventSources, notificationv1.CrossNamespaceObjectReference{Kind: "GitRepository", Name: "app", Namespace: "elsewhere"})
	w.create(t, provider, alert)
	for kind, test := range map[string]struct {
		object client.Object
		want   []string
	}{
		"Provider": {provider, []string{"Warning InvalidConfig spec.type: providers of type telegram are not supported"}},
		"Alert":    {alert, []string{"spec.inclusionList[0] is not a valid regular expression", "spec.eventSources[1]: can't access 'GitRepository/elsewhere/app'"}},
	} {
		for _, want := range test.want {
			eventually(t, want, func() bool {
				return slices.ContainsFunc(w.events(t, kind, test.object), func(e string) bool {
					return strings.HasPrefix(e, "Warning InvalidConfig ") && strings.Contains(e, want)
				})
			})
		}
	}
	// Flux used to set a finalizer on providers.
	if err := w.client.Delete(t.Context(), provider); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the provider's end", func() bool {
		return client.IgnoreNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(provider), provider)) == nil &&
			w.client.Get(t.Context(), client.ObjectKeyFromObject(provider), provider) != nil
	})
}

// Alerts ignore other namespaces' objects unless the server allows them.
func TestAlertsDoNotTellOfOtherNamespaces(t *testing.T) {
	w, s, namespace, other := start(t), newSink(t), apitest.Namespace(t), apitest.Namespace(t)
	alert := alertIn(namespace, "Terraform")
	alert.Spec.EventSources = append(alert.Spec.EventSources, notificationv1.CrossNamespaceObjectReference{Kind: "Terraform", Name: "*", Namespace: other})
	w.create(t, providerIn(namespace, "generic", s.URL), alert)
	w.await(t, s, namespace)
	w.recorder.Eventf(stackIn(other, "theirs", newCommit), nil, "Normal", "Applied", "Apply", "theirs")
	w.recorder.Eventf(stackIn(namespace, "ours", newCommit), nil, "Normal", "Applied", "Apply", "ours")
	eventually(t, "the news of ours", told(s, "ours"))
	if told(s, "theirs")() {
		t.Error("an alert matches another namespace's stack")
	}
}

// Only events about a commit become statuses; unchanged ones are not posted.
func TestCommitStatuses(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	s := newSink(t)
	w.create(t, secretIn(namespace, "token", map[string]string{"token": "t0ken"}))
	provider := providerIn(namespace, "gitea", s.URL+"/org/app")
	provider.Spec.SecretRef = &meta.LocalObjectReference{Name: "token"}
	provider.Spec.CommitStatusExpr = "event.involvedObject.kind + ' ' + event.involvedObject.name"
	w.create(t, provider, alertIn(namespace, "Kustomization"))
	app := func(revision string) *kustomizev1.Kustomization {
		return &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app", UID: "1"},
			Status: kustomizev1.KustomizationStatus{LastAppliedRevision: revision, LastAttemptedRevision: revision}}
	}
	posted := func(text string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.bodies, func(b string) bool { return strings.Contains(b, text) })
	}
	n := 0
	eventually(t, "a status", func() bool {
		n++
		w.recorder.Eventf(app("1.0@sha256:"+strings.Repeat("c", 64)), nil, "Normal", "NoCommit", "Reconcile", "no commit %d", n)
		w.recorder.Eventf(app(newCommit), nil, "Normal", "ReconciliationSucceeded", "Reconcile", "Reconciliation finished in %ds", n)
		return posted(`{"context":"Kustomization app","description":"reconciliation succeeded","state":"success"}`)
	})
	if posted("no commit") {
		t.Error("an event without a commit became a status")
	}
}
