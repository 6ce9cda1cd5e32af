// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func mapper() apimeta.RESTMapper {
	m := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{sourcev1.GroupVersion, kustomizev1.GroupVersion, infrav1.GroupVersion})
	for _, kind := range []string{"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"} {
		m.Add(sourcev1.GroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	m.Add(kustomizev1.GroupVersion.WithKind("Kustomization"), apimeta.RESTScopeNamespace)
	m.Add(infrav1.GroupVersion.WithKind(infrav1.Kind), apimeta.RESTScopeNamespace)
	return m
}

func resource(kind, name string) notificationv1.ReceiverResource {
	return notificationv1.ReceiverResource{CrossNamespaceObjectReference: notificationv1.CrossNamespaceObjectReference{Kind: kind, Name: name}}
}

func TestJudge(t *testing.T) {
	for sentence, test := range map[string]struct {
		change  func(*notificationv1.Receiver, *corev1.Secret)
		allow   bool
		reason  string
		message string
		stalled bool
		targets int
	}{
		"a repository by its name": {reason: meta.SucceededReason, message: "Receiver initialized for path: /hook/", targets: 1},
		"a version that is not served any more": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.Resources[0].APIVersion = "source.toolkit.fluxcd.io/v1beta2"
		}, reason: meta.SucceededReason, targets: 1},
		"a stack and a Kustomization": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.Resources = []notificationv1.ReceiverResource{resource("Terraform", "a"), resource("Kustomization", "b")}
		}, reason: meta.SucceededReason, targets: 2},
		"a kind that is not served, beside one that is": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.Resources = append(r.Spec.Resources, resource("ImageRepository", "a"))
		}, reason: meta.SucceededReason, message: "does not serve these kinds, and hooks do not reconcile them: ImageRepository", targets: 1},
		"only a kind that is not served": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.Resources = []notificationv1.ReceiverResource{resource("ImagePolicy", "a")}
		}, reason: notificationv1.ValidationFailedReason, message: "serves none of these kinds: ImagePolicy", stalled: true},
		"another group's kind of the name": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.Resources[0].APIVersion = "v1"
		}, reason: notificationv1.ValidationFailedReason, stalled: true},
		"everything with labels": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.Resources[0].Name, r.Spec.Resources[0].MatchLabels = "*", map[string]string{"a": "b"}
		}, reason: meta.SucceededReason, targets: 1},
		"everything": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) { r.Spec.Resources[0].Name = "*" },
			reason: notificationv1.ValidationFailedReason, message: "matchLabels field not set", stalled: true},
		"another namespace": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) { r.Spec.Resources[0].Namespace = "other" },
			reason: "AccessDenied", message: "can't access 'GitRepository/other/app', cross-namespace references have been blocked", stalled: true},
		"another namespace, where that is allowed": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) { r.Spec.Resources[0].Namespace = "other" },
			allow: true, reason: meta.SucceededReason, targets: 1},
		"no Secret": {change: func(_ *notificationv1.Receiver, s *corev1.Secret) { s.Name = "" },
			reason: notificationv1.TokenNotFoundReason, message: "unable to read token from secret 'team/token'"},
		"a Secret without a token": {change: func(_ *notificationv1.Receiver, s *corev1.Secret) { s.Data = nil },
			reason: notificationv1.TokenNotFoundReason, message: "required fields 'token'"},
		"an empty token": {change: func(_ *notificationv1.Receiver, s *corev1.Secret) { s.Data["token"] = nil },
			reason: notificationv1.TokenNotFoundReason, message: "is empty"},
		"a type that Yuba does not take": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) { r.Spec.Type = "gcr" },
			reason: notificationv1.ValidationFailedReason, message: "type gcr are not supported", stalled: true},
		"an expression": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.ResourceFilter, r.Spec.Resources[0].Filter = "req.ref == 'x'", "has(res.metadata.name)"
		},
			reason: meta.SucceededReason, targets: 1},
		"an expression that is none": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) { r.Spec.ResourceFilter = "req.(" },
			reason: meta.InvalidCELExpressionReason, message: "spec.resourceFilter", stalled: true},
		"an expression of another kind": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) { r.Spec.Resources[0].Filter = "'text'" },
			reason: meta.InvalidCELExpressionReason, message: "spec.resources[0].filter", stalled: true},
		"an endless expression": {change: func(r *notificationv1.Receiver, _ *corev1.Secret) {
			r.Spec.ResourceFilter = "true" + strings.Repeat(" || true", 10000)
		},
			reason: meta.InvalidCELExpressionReason, message: "at most", stalled: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := &notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "hook"}, Spec: notificationv1.ReceiverSpec{
				Type: "github", SecretRef: &meta.LocalObjectReference{Name: "token"}, Resources: []notificationv1.ReceiverResource{resource("GitRepository", "app")}}}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "token"}, Data: map[string][]byte{"token": []byte("t0ken")}}
			if test.change != nil {
				test.change(r, secret)
			}
			if secret.Name == "" {
				secret = nil
			}
			v, err := judge(r, secret, mapper(), test.allow)
			if err != nil {
				t.Fatal(err)
			}
			if v.reason != test.reason || v.stalled != test.stalled || len(v.targets) != test.targets || !strings.Contains(v.message, test.message) {
				t.Errorf("%+v", v)
			}
			if ok := v.path != ""; ok != (test.reason == meta.SucceededReason) || ok && v.path != r.GetWebhookPath("t0ken") {
				t.Errorf("the path is %s", v.path)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	object := object{sourcev1.GroupVersion.WithKind("GitRepository"), types.NamespacedName{Namespace: "team", Name: "app"}}.metadata()
	object.Labels = map[string]string{"branch": "main"}
	json := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	for sentence, test := range map[string]struct {
		expression, body string
		header           http.Header
		want             bool
		problem          bool
	}{
		"none":                    {"", "", nil, true, false},
		"the body's branch":       {"req.ref == 'refs/heads/' + res.metadata.labels.branch", `{"ref": "refs/heads/main"}`, json, true, false},
		"another branch":          {"req.ref == 'refs/heads/' + res.metadata.labels.branch", `{"ref": "refs/heads/x"}`, json, false, false},
		"a body that is not JSON": {"!has(req.ref)", `ref=x`, http.Header{"Content-Type": {"text/plain"}}, true, false},
		"JSON that is none":       {"true", `{`, json, false, true},
		"JSON that is null":       {"true", `null`, json, false, true},
		"a field that is missing": {"req.ref == 'x'", `{}`, json, false, true},
		"more than a moment's work": {"[" + strings.Repeat("1,", 200) + "1].all(a, [" + strings.Repeat("1,", 200) + "1].all(b, [" + strings.Repeat("1,", 200) +
			"1].all(c, [" + strings.Repeat("1,", 200) + "1].all(d, a+b+c+d > 0))))", `{}`, json, false, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			f, err := newFilter(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			body, err := readBody(test.header, []byte(test.body))
			got := false
			if err == nil {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got, err = f.passes(ctx, object, body)
			}
			if got != test.want || (err != nil) != test.problem {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// A deleted receiver's path is gone, and reports are limited. A small expression must not use
// gigabytes of memory.
func TestFiltersThatGrowAreStopped(t *testing.T) {
	f, err := newFilter("req.a" + strings.Repeat(".replace('a', '"+strings.Repeat("a", 100)+"')", 8) + ".size() > 1")
	if err != nil {
		t.Fatal(err)
	}
	ok, err := f.passes(t.Context(), &metav1.PartialObjectMetadata{}, map[string]any{"a": "a"})
	if ok || err == nil || !strings.Contains(err.Error(), "it creates or compares more than") {
		t.Error(ok, err)
	}
}

func TestTable(t *testing.T) {
	entryAt := func(path string, generation int64) *entry {
		return &entry{path: path, receiver: &notificationv1.Receiver{ObjectMeta: metav1.ObjectMeta{Generation: generation}}}
	}
	table, one, two := newTable(), types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	a := entryAt("/hook/a", 1)
	table.set(one, a)
	table.set(two, entryAt("/hook/b", 1))
	now := time.Now()
	if !a.told.May("x", now) || a.told.May("x", now.Add(30*time.Second)) || !a.told.May("y", now) {
		t.Error("a problem is reported twice, or another is not reported")
	}
	table.set(one, entryAt("/hook/c", 1))
	if table.find("/hook/a") != nil || table.find("/hook/b") == nil || table.find("/hook/c") == nil {
		t.Error("the path did not move")
	}
	c := table.find("/hook/c")
	if c.told.May("x", now.Add(30*time.Second)) || c.limit != a.limit {
		t.Error("a change resets the reported problems")
	}
	if a.life.Err() == nil || c.life.Err() != nil {
		t.Error("hooks of the old path continue, or those of the new one end")
	}
	table.set(one, entryAt("/hook/c", 1))
	if c.life.Err() != nil {
		t.Error("a reconciliation without changes ends running hooks")
	}
	table.set(one, entryAt("/hook/c", 2))
	if d := table.find("/hook/c"); c.life.Err() == nil || d.life.Err() != nil {
		t.Error("a change of the receiver does not end its running hooks")
	}
	last := table.find("/hook/c")
	table.set(one, nil)
	table.set(one, nil)
	if table.find("/hook/c") != nil || table.find("/hook/b") == nil {
		t.Error("a deleted receiver is found")
	}
	if last.life.Err() == nil {
		t.Error("hooks of a deleted receiver continue")
	}
}
