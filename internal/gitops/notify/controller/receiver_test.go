// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func receiverIn(namespace, kind string, resources ...notificationv1.CrossNamespaceObjectReference) *notificationv1.Receiver {
	r := &notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hook"}, Spec: notificationv1.ReceiverSpec{
		Type: kind, SecretRef: &meta.LocalObjectReference{Name: "token"}}}
	for _, resource := range resources {
		r.Spec.Resources = append(r.Spec.Resources, notificationv1.ReceiverResource{CrossNamespaceObjectReference: resource})
	}
	return r
}

func repository(namespace, name string) *sourcev1.GitRepository {
	return &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: sourcev1.GitRepositorySpec{URL: "https://git.example/app", Interval: metav1.Duration{Duration: time.Hour}}}
}

// read reads the current object.
func (w *world) read(t *testing.T, o client.Object) client.Object {
	t.Helper()
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *world) requestedAt(t *testing.T, o client.Object) string {
	t.Helper()
	return w.read(t, o).GetAnnotations()[meta.ReconcileRequestAnnotation]
}

// ready waits until a receiver has a condition, and returns it.
func (w *world) ready(t *testing.T, r *notificationv1.Receiver, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var is metav1.Condition
	eventually(t, "Ready's being "+string(status)+" "+reason, func() bool {
		w.read(t, r)
		c := apimeta.FindStatusCondition(r.Status.Conditions, meta.ReadyCondition)
		if c == nil || c.ObservedGeneration != r.Generation {
			return false
		}
		is = *c
		return c.Status == status && c.Reason == reason
	})
	return is
}

// hook sends a hook and returns the answer's status.
func (w *world) hook(t *testing.T, path, body string, headers ...string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.hooks.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// signed are the headers of GitHub's hook.
func signed(token, event, body string) []string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(body))
	return []string{"X-Hub-Signature-256", "sha256=" + hex.EncodeToString(mac.Sum(nil)), "X-GitHub-Event", event, "Content-Type", "application/json"}
}

func TestHooksAskTheObjectsTheyAreAbout(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	repo, other := repository(namespace, "app"), repository(namespace, "other")
	blue := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blue", Labels: map[string]string{"app": "web", "branch": "main"}},
		Spec: kustomizev1.KustomizationSpec{Interval: metav1.Duration{Duration: time.Hour}, SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "app"}}}
	green := blue.DeepCopy()
	green.Name, green.Labels["branch"] = "green", "next"
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vpc"},
		Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "app"}}}
	receiver := receiverIn(namespace, "github", source("GitRepository", "app"), source("Terraform", "vpc"),
		source("Kustomization", "*", func(s *notificationv1.CrossNamespaceObjectReference) { s.MatchLabels = map[string]string{"app": "web"} }))
	receiver.Spec.Resources[2].Filter = "req.ref == 'refs/heads/' + res.metadata.labels.branch"
	receiver.Spec.Events = []string{"ping", "push"}
	w.create(t, secretIn(namespace, "token", map[string]string{"token": "t0ken"}), repo, other, blue, green, stack, receiver)

	c := w.ready(t, receiver, metav1.ConditionTrue, meta.SucceededReason)
	if want := receiver.GetWebhookPath("t0ken"); receiver.Status.WebhookPath != want || c.Message != "Receiver initialized for path: "+want ||
		receiver.Status.ObservedGeneration != receiver.Generation || len(receiver.Status.Conditions) != 1 || len(receiver.Finalizers) != 0 {
		t.Errorf("%+v", receiver.Status)
	}
	eventually(t, "the event", func() bool {
		return slices.Contains(w.events(t, "Receiver", receiver), "Normal Succeeded Reconciliation finished, next run in 10m0s")
	})

	const body = `{"ref": "refs/heads/main"}`
	path := receiver.Status.WebhookPath
	for sentence, test := range map[string]struct {
		path, body string
		headers    []string
		want       int
	}{
		"another path":               {path[:len(path)-1], body, signed("t0ken", "push", body), http.StatusNotFound},
		"no path at all":             {"/hook/", body, signed("t0ken", "push", body), http.StatusNotFound},
		"no signature":               {path, body, nil, http.StatusBadRequest},
		"another token's signature":  {path, body, signed("other", "push", body), http.StatusBadRequest},
		"an event that is not asked": {path, body, signed("t0ken", "star", body), http.StatusBadRequest},
		"a body that is not JSON":    {path, "x", signed("t0ken", "push", "x"), http.StatusBadRequest},
		"an endless body":            {path, strings.Repeat("x", 4<<20), signed("t0ken", "push", body), http.StatusRequestEntityTooLarge},
	} {
		if got := w.hook(t, test.path, test.body, test.headers...); got != test.want {
			t.Errorf("%s: the answer is %d, want %d", sentence, got, test.want)
		}
	}
	if at := w.requestedAt(t, repo); at != "" {
		t.Errorf("a refused hook requested a reconciliation at %s", at)
	}
	eventually(t, "the refusal's being told", func() bool {
		return slices.ContainsFunc(w.events(t, "Receiver", receiver), func(e string) bool { return strings.HasPrefix(e, "Warning WebhookRefused ") })
	})
	if w.log.Count("t0ken") > 0 {
		t.Error("the log contains the token")
	}

	// The cache may lack the Kustomizations.
	eventually(t, "the Kustomization's being asked", func() bool {
		if got := w.hook(t, path, body, signed("t0ken", "push", body)...); got != http.StatusOK {
			t.Fatalf("the answer is %d", got)
		}
		return w.requestedAt(t, blue) != ""
	})
	for _, o := range []client.Object{repo, stack} {
		if w.requestedAt(t, o) == "" {
			t.Errorf("%s is not reconciled", o.GetName())
		}
	}
	for _, o := range []client.Object{other, green} {
		if w.requestedAt(t, o) != "" {
			t.Errorf("%s is reconciled", o.GetName())
		}
	}
}

// A thousand hooks at once are all answered, make few requests, and the last is not lost.
func TestBurstsOfHooksAskAFewTimes(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	repo, receiver := repository(namespace, "app"), receiverIn(namespace, "generic", source("GitRepository", "app"))
	w.create(t, secretIn(namespace, "token", map[string]string{"token": "t0ken"}), repo, receiver)
	w.ready(t, receiver, metav1.ConditionTrue, meta.SucceededReason)
	changes, err := w.client.Watch(t.Context(), &sourcev1.GitRepositoryList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	var requests []string
	var mu sync.Mutex
	go func() {
		for e := range changes.ResultChan() {
			if o, ok := e.Object.(*sourcev1.GitRepository); ok && e.Type == watch.Modified {
				mu.Lock()
				requests = append(requests, o.Annotations[meta.ReconcileRequestAnnotation])
				mu.Unlock()
			}
		}
	}()

	began := time.Now()
	var senders sync.WaitGroup
	for range 20 {
		senders.Go(func() {
			for range 50 {
				if got := w.hook(t, receiver.Status.WebhookPath, ""); got != http.StatusOK {
					t.Errorf("the answer is %d", got)
				}
			}
		})
	}
	senders.Wait()
	last := time.Now()
	if got := w.hook(t, receiver.Status.WebhookPath, ""); got != http.StatusOK {
		t.Errorf("the answer is %d", got)
	}
	eventually(t, "a request after the last hook", func() bool {
		mu.Lock()
		defer mu.Unlock()
		if len(requests) == 0 {
			return false
		}
		at, err := time.Parse(time.RFC3339Nano, requests[len(requests)-1])
		return err == nil && !at.Before(last)
	})
	mu.Lock()
	defer mu.Unlock()
	// At most one for each pause of half a second.
	if most := int(time.Since(began)/(500*time.Millisecond)) + 2; len(requests) > most {
		t.Errorf("%d hooks made %d requests, want at most %d", 1001, len(requests), most)
	}
}

func TestReceiversFollowTheirSecret(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	secret, receiver := secretIn(namespace, "token", map[string]string{"token": "one"}), receiverIn(namespace, "generic", source("GitRepository", "app"))
	receiver.Finalizers = []string{notificationv1.NotificationFinalizer}
	w.create(t, repository(namespace, "app"), receiver)
	c := w.ready(t, receiver, metav1.ConditionFalse, notificationv1.TokenNotFoundReason)
	if !strings.Contains(c.Message, "'"+namespace+"/token'") || receiver.Status.WebhookPath != "" ||
		apimeta.FindStatusCondition(receiver.Status.Conditions, meta.ReconcilingCondition).Reason != meta.ProgressingWithRetryReason {
		t.Errorf("%+v", receiver.Status)
	}

	w.create(t, secret)
	w.ready(t, receiver, metav1.ConditionTrue, meta.SucceededReason)
	first := receiver.Status.WebhookPath
	if got := w.hook(t, first, ""); got != http.StatusOK {
		t.Errorf("the answer is %d", got)
	}
	// A changed token removes the old path.
	secret.Data = map[string][]byte{"token": []byte("two")}
	if err := w.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new path", func() bool { w.read(t, receiver); return receiver.Status.WebhookPath == receiver.GetWebhookPath("two") })
	if got := w.hook(t, first, ""); got != http.StatusNotFound {
		t.Errorf("at the old path, the answer is %d", got)
	}
	// A suspended receiver refuses hooks temporarily.
	path := receiver.Status.WebhookPath
	receiver.Spec.Suspend = true
	if err := w.client.Update(t.Context(), receiver); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the suspension", func() bool { return w.hook(t, path, "") == http.StatusServiceUnavailable })
	receiver.Spec.Suspend = false
	receiver.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	if err := w.client.Update(t.Context(), receiver); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its end", func() bool { return w.hook(t, path, "") == http.StatusOK })
	eventually(t, "the request's answer", func() bool { w.read(t, receiver); return receiver.Status.LastHandledReconcileAt == "now" })
	// If the object is missing, sender and owner learn that nothing happened.
	if err := w.client.Delete(t.Context(), repository(namespace, "app")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the failure", func() bool { return w.hook(t, path, "") == http.StatusInternalServerError })
	eventually(t, "the failure's being told", func() bool {
		return slices.ContainsFunc(w.events(t, "Receiver", receiver), func(e string) bool {
			return strings.HasPrefix(e, "Warning WebhookFailed ") && strings.Contains(e, "GitRepository "+namespace+"/app")
		})
	})
	if err := w.client.Delete(t.Context(), receiver); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the receiver's end", func() bool { return w.hook(t, path, "") == http.StatusNotFound })
	eventually(t, "the object's end", func() bool { return w.client.Get(t.Context(), client.ObjectKeyFromObject(receiver), receiver) != nil })
}

func TestReceiversThatCannotWorkAreStalled(t *testing.T) {
	w := start(t)
	for kind, test := range map[string]struct {
		change  func(*notificationv1.Receiver)
		reason  string
		message string
	}{
		"gcr":          {nil, notificationv1.ValidationFailedReason, "receivers of type gcr are not supported"},
		"cdevents":     {nil, notificationv1.ValidationFailedReason, "receivers of type cdevents are not supported"},
		"gitlab":       {func(r *notificationv1.Receiver) { r.Spec.ResourceFilter = "req." }, meta.InvalidCELExpressionReason, "spec.resourceFilter"},
		"generic-hmac": {func(r *notificationv1.Receiver) { r.Spec.Resources[0].Namespace = "default" }, "AccessDenied", "cross-namespace references have been blocked"},
	} {
		t.Run(kind, func(t *testing.T) {
			namespace := apitest.Namespace(t)
			receiver := receiverIn(namespace, kind, source("GitRepository", "app"))
			if test.change != nil {
				test.change(receiver)
			}
			w.create(t, secretIn(namespace, "token", map[string]string{"token": "t0ken"}), receiver)
			c := w.ready(t, receiver, metav1.ConditionFalse, test.reason)
			stalled := apimeta.FindStatusCondition(receiver.Status.Conditions, meta.StalledCondition)
			if !strings.Contains(c.Message, test.message) || stalled == nil || stalled.Reason != test.reason || receiver.Status.ObservedGeneration != receiver.Generation {
				t.Errorf("%+v", receiver.Status)
			}
			if got := w.hook(t, receiver.GetWebhookPath("t0ken"), ""); got != http.StatusNotFound {
				t.Errorf("the answer is %d", got)
			}
			eventually(t, "the event", func() bool {
				return slices.ContainsFunc(w.events(t, "Receiver", receiver), func(e string) bool { return strings.HasPrefix(e, fmt.Sprintf("Warning %s ", test.reason)) })
			})
		})
	}
}

// Senders do not retry after "not found": a starting server makes them wait until the receivers
// have their paths.
func TestHooksAtTheStartAreNotLost(t *testing.T) {
	w, namespace := start(t), apitest.Namespace(t)
	w.create(t, secretIn(namespace, "token", map[string]string{"token": "t0ken"}), repository(namespace, "app"))
	var paths []string
	for i := range 20 {
		receiver := receiverIn(namespace, "generic", source("GitRepository", "app"))
		receiver.Name = fmt.Sprint("hook-", i)
		w.create(t, receiver)
		paths = append(paths, receiver.GetWebhookPath("t0ken"))
	}
	mgr, err := newManager(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	receivers := &receive.Receivers{Client: mgr.GetClient(), Events: mgr.GetEventRecorder("yuba"), Log: slog.New(slog.DiscardHandler)}
	if err := receivers.SetupWithManager(t.Context(), mgr); err != nil {
		t.Fatal(err)
	}
	second := world{hooks: httptest.NewServer(receivers)}
	defer second.hooks.Close()
	if got := second.hook(t, paths[0], ""); got != http.StatusServiceUnavailable {
		t.Errorf("before the start, the answer is %d", got)
	}
	go mgr.Start(t.Context())
	for _, path := range slices.Backward(paths) {
		eventually(t, "the hook's being taken", func() bool {
			got := second.hook(t, path, "")
			if got != http.StatusOK && got != http.StatusServiceUnavailable {
				t.Fatalf("the answer is %d", got)
			}
			return got == http.StatusOK
		})
	}
}
