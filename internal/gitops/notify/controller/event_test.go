// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	oldCommit = "main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	newCommit = "main@sha1:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "7d0cdc51-ddcf-4743-b223-83ca5c699632", Labels: map[string]string{"team": "a"},
		Annotations: map[string]string{"event.toolkit.fluxcd.io/env": "prod", "other": "x"}}
}

// An event has facts of its object's status, by kind.
func TestWhatEventsTellOfObjects(t *testing.T) {
	const k, s, i = "kustomize.toolkit.fluxcd.io/", "source.toolkit.fluxcd.io/", "infra.contrib.fluxcd.io/"
	artifact := &meta.Artifact{Revision: "1.0@sha256:cc", Digest: "sha256:dd", Metadata: map[string]string{"org.opencontainers.image.revision": newCommit}}
	stack := func(pending string) *infrav1.Terraform {
		t := &infrav1.Terraform{ObjectMeta: metaOf("apps", "vpc"), Status: infrav1.TerraformStatus{LastAttemptedRevision: newCommit}}
		t.Status.Plan.Pending, t.Status.Plan.Summary = pending, "Plan: 1 to add"
		return t
	}
	for sentence, test := range map[string]struct {
		object            client.Object
		eventType, reason string
		message           string
		want              map[string]string
	}{
		"an artifact": {&sourcev1.OCIRepository{ObjectMeta: metaOf("apps", "code"), Status: sourcev1.OCIRepositoryStatus{Artifact: artifact}}, "Normal", "NewArtifact", "m",
			map[string]string{s + "revision": "1.0@sha256:cc", s + "digest": "sha256:dd", s + "originRevision": newCommit}},
		"a failure to fetch says nothing about the artifact there is": {&sourcev1.GitRepository{ObjectMeta: metaOf("apps", "code"),
			Status: sourcev1.GitRepositoryStatus{Artifact: artifact}}, "Warning", "GitOperationFailed", "m", nil},
		"a Kustomization that was applied": {&kustomizev1.Kustomization{ObjectMeta: metaOf("apps", "app"), Status: kustomizev1.KustomizationStatus{
			LastAppliedRevision: newCommit, LastAttemptedRevision: newCommit, LastAppliedOriginRevision: oldCommit}}, "Normal", "Progressing", "Deployment/app configured",
			map[string]string{k + "revision": newCommit, k + "originRevision": oldCommit}},
		"one whose pass ended is news for statuses only": {&kustomizev1.Kustomization{ObjectMeta: metaOf("apps", "app"), Status: kustomizev1.KustomizationStatus{
			LastAppliedRevision: newCommit, LastAttemptedRevision: newCommit}}, "Normal", "ReconciliationSucceeded", "Reconciliation finished in 1s, next run in 1m0s",
			map[string]string{k + "revision": newCommit, k + "commit_status": "update"}},
		"one that fails at a new revision": {&kustomizev1.Kustomization{ObjectMeta: metaOf("apps", "app"), Status: kustomizev1.KustomizationStatus{
			LastAppliedRevision: oldCommit, LastAttemptedRevision: newCommit, LastAppliedOriginRevision: oldCommit}}, "Warning", "HealthCheckFailed", "m",
			map[string]string{k + "revision": newCommit}},
		"one whose source is gone": {&kustomizev1.Kustomization{ObjectMeta: metaOf("apps", "app"), Status: kustomizev1.KustomizationStatus{
			LastAppliedRevision: oldCommit}}, "Warning", "ArtifactFailed", "m", nil},
		"a stack's plan that waits": {stack("plan-main-1"), "Normal", infrav1.ReasonPlanSucceeded, "m",
			map[string]string{i + "revision": newCommit, i + "plan": "plan-main-1", i + "changes": "Plan: 1 to add"}},
		"a stack that was applied": {stack(""), "Normal", infrav1.ReasonApplied, "m", map[string]string{i + "revision": newCommit}},
		"a stack's run that begins": {stack(""), "Normal", infrav1.ReasonProgressing, "m",
			map[string]string{i + "revision": newCommit, i + "commit_status": "update"}},
		"an object that has no revision": {&notificationv1.Receiver{ObjectMeta: metaOf("apps", "hook")}, "Warning", "Failed", "m", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			e, err := newEvent(kubetest.Scheme(), test.object, test.eventType, test.reason, test.message, "host", time.Date(2026, 11, 22, 7, 26, 19, 5, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"event.toolkit.fluxcd.io/env": "prod"}
			for name, value := range test.want {
				want[name] = value
			}
			if diff := cmp.Diff(want, e.Metadata); diff != "" {
				t.Error(diff)
			}
			severity := map[string]string{"Normal": "info", "Warning": "error"}[test.eventType]
			if e.Severity != severity || e.Reason != test.reason || e.Message != test.message || e.InvolvedObject.Name != test.object.GetName() ||
				e.InvolvedObject.Kind == "" || e.InvolvedObject.APIVersion == "" || e.Labels["team"] != "a" || e.Timestamp.Nanosecond() != 0 {
				t.Errorf("%+v", e)
			}
		})
	}
}

type recorded struct{ lines []string }

func (r *recorded) Eventf(_, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	r.lines = append(r.lines, eventType+" "+reason+" "+fmt.Sprintf(note, args...))
}

func TestRecorder(t *testing.T) {
	var api recorded
	var offered []Event
	r := NewRecorder(&api, kubetest.Scheme(), func(e Event) { offered = append(offered, e) })
	object := &kustomizev1.Kustomization{ObjectMeta: metaOf("apps", "app")}
	long := strings.Repeat("é", 1000)
	r.Eventf(object, nil, "Warning", "BuildFailed", "Build", "%s", long)
	r.Eventf(object, nil, eventv1.EventTypeTrace, "UpToDate", "Fetch", "100%s", "%")
	r.Eventf(&corev1.ObjectReference{Kind: "Kustomization"}, nil, "Normal", "X", "X", "about a reference")
	if len(api.lines) != 3 || !strings.HasPrefix(api.lines[0], "Warning BuildFailed éé") || len(api.lines[0]) > len("Warning BuildFailed ")+reconciling.MaxNote ||
		!utf8.ValidString(api.lines[0]) || api.lines[1] != "Normal UpToDate 100%" {
		t.Errorf("%q", api.lines)
	}
	// Receivers get the whole text; traces are not sent.
	if len(offered) != 1 || offered[0].Message != long {
		t.Errorf("%+v", offered)
	}
	if page, ok := offered[0].Metadata["kustomize.toolkit.fluxcd.io/page"]; ok {
		t.Errorf("without an address, the page is %q", page)
	}
	// The controller's later changes of the object have no effect.
	object.Labels["team"] = "b"
	if offered[0].Labels["team"] != "a" {
		t.Error("the event changed with its object")
	}
}

func source(kind, name string, change ...func(*notificationv1.CrossNamespaceObjectReference)) notificationv1.CrossNamespaceObjectReference {
	s := notificationv1.CrossNamespaceObjectReference{Kind: kind, Name: name}
	for _, c := range change {
		c(&s)
	}
	return s
}

func alertOn(sources ...notificationv1.CrossNamespaceObjectReference) *notificationv1beta3.Alert {
	return &notificationv1beta3.Alert{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "alert"}, Spec: notificationv1beta3.AlertSpec{
		EventSeverity: "info", EventSources: sources}}
}

func event(kind, name, severity, message string) *Event {
	return &Event{Labels: map[string]string{"team": "a"}, Event: eventv1.Event{Severity: severity, Message: message, Reason: "R",
		InvolvedObject: corev1.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: kind, Namespace: "apps", Name: name}}}
}

func TestWants(t *testing.T) {
	elsewhere := func(s *notificationv1.CrossNamespaceObjectReference) { s.Namespace = "other" }
	labels := func(pairs map[string]string) func(*notificationv1.CrossNamespaceObjectReference) {
		return func(s *notificationv1.CrossNamespaceObjectReference) { s.MatchLabels = pairs }
	}
	moved := event("Kustomization", "app", "info", "applied")
	moved.InvolvedObject.Namespace = "other"
	applied := event("Kustomization", "app", "info", "applied revision 1")
	broken := event("Kustomization", "app", "error", "health check failed")
	with := func(a *notificationv1beta3.Alert, change func(*notificationv1beta3.AlertSpec)) *notificationv1beta3.Alert {
		change(&a.Spec)
		return a
	}
	for sentence, test := range map[string]struct {
		alert *notificationv1beta3.Alert
		event *Event
		cross bool
		want  bool
	}{
		"by name":                           {alertOn(source("Kustomization", "app")), applied, false, true},
		"another name":                      {alertOn(source("Kustomization", "web")), applied, false, false},
		"another kind of the name":          {alertOn(source("GitRepository", "app")), applied, false, false},
		"every name":                        {alertOn(source("Kustomization", "*")), applied, false, true},
		"one of several":                    {alertOn(source("GitRepository", "*"), source("Kustomization", "*")), applied, false, true},
		"labels":                            {alertOn(source("Kustomization", "*", labels(map[string]string{"team": "a"}))), applied, false, true},
		"other labels":                      {alertOn(source("Kustomization", "*", labels(map[string]string{"team": "b"}))), applied, false, false},
		"another namespace":                 {alertOn(source("Kustomization", "app", elsewhere)), moved, false, false},
		"another namespace that is allowed": {alertOn(source("Kustomization", "app", elsewhere)), moved, true, true},
		"its own namespace is meant":        {alertOn(source("Kustomization", "app")), moved, true, false},
		"failures only, and it is none":     {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.EventSeverity = "error" }), applied, false, false},
		"failures only":                     {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.EventSeverity = "error" }), broken, false, true},
		"everything, failures too":          {alertOn(source("Kustomization", "*")), broken, false, true},
		"suspended":                         {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.Suspend = true }), applied, false, false},
		"included":                          {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.InclusionList = []string{"x", "app.*1$"} }), applied, false, true},
		"not included":                      {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.InclusionList = []string{"x"} }), applied, false, false},
		"excluded":                          {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.ExclusionList = []string{"^applied"} }), applied, false, false},
		"excluding is stronger than including": {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) {
			s.InclusionList, s.ExclusionList = []string{"a"}, []string{"a"}
		}), applied, false, false},
		"no expression excludes nothing": {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.ExclusionList = []string{"("} }), applied, false, true},
		"no expression includes nothing": {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.InclusionList = []string{"("} }), applied, false, false},
		"an endless one is not used":     {with(alertOn(source("Kustomization", "*")), func(s *notificationv1beta3.AlertSpec) { s.InclusionList = []string{strings.Repeat("a?", 1000)} }), applied, false, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := wants(test.alert, test.event, test.cross); got != test.want {
				t.Errorf("it is %v", got)
			}
		})
	}
}

func TestWhatIsWrongWithAlertsAndProviders(t *testing.T) {
	a := alertOn(source("Kustomization", "*"), source("GitRepository", "app", func(s *notificationv1.CrossNamespaceObjectReference) { s.Namespace = "other" }))
	a.Spec.InclusionList = []string{"fine", "(", strings.Repeat("a", maxExpression+1)}
	a.Spec.ExclusionList = make([]string, maxExpressions+1)
	text := strings.Join(checkAlert(a, false), "\n")
	for _, want := range []string{"spec.eventSources[1]: can't access 'GitRepository/other/app'", "spec.inclusionList[1] is not a valid regular expression",
		"spec.inclusionList[2] has 1001 bytes", "spec.exclusionList has 101 expressions"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if problems := checkAlert(alertOn(source("Kustomization", "*")), false); len(problems) != 0 {
		t.Errorf("%q", problems)
	}
	text = strings.Join(checkAlert(alertOn(source("ImageRepository", "a"), source("HelmRelease", "*"), source("ImageRepository", "b"), source("ImagePolicy", "*")), false), "\n")
	if want := "spec.eventSources: this server does not serve these kinds, and sends nothing about them: ImageRepository, ImagePolicy"; text != want {
		t.Errorf("it says\n%s", text)
	}
	forge := &notificationv1beta3.Provider{Spec: notificationv1beta3.ProviderSpec{Type: "github", Address: "https://github.com/a/b", ServiceAccountName: "app"}}
	text = strings.Join(checkProvider(forge), "\n")
	for _, want := range []string{"spec.secretRef does not name a Secret with a token", "spec.serviceAccountName: cloud identities are not supported"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	p := &notificationv1beta3.Provider{Spec: notificationv1beta3.ProviderSpec{Type: "telegram", CommitStatusExpr: "1"}}
	text = strings.Join(checkProvider(p), "\n")
	for _, want := range []string{"providers of type telegram are not supported", "github, gitlab", "spec.address is empty", "spec.commitStatusExpr"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// Later ones override: annotations, the alert, the controller.
func TestEnrich(t *testing.T) {
	const k = "kustomize.toolkit.fluxcd.io/"
	e := event("Kustomization", "app", "info", "m").Event
	e.Metadata = map[string]string{"event.toolkit.fluxcd.io/env": "annotation", "event.toolkit.fluxcd.io/change_request": "7", "event.toolkit.fluxcd.io/revision": "annotation",
		k + "revision": newCommit, k + "token": "internal", k + "commit_status": "update"}
	a := alertOn()
	a.Spec.EventMetadata, a.Spec.Summary = map[string]string{"env": "alert", "revision": "alert", "summary": "alert"}, "summary"
	want := map[string]string{"env": "alert", "revision": newCommit, "summary": "summary", "change_request": "7"}
	if diff := cmp.Diff(want, enrich(e, a).Metadata); diff != "" {
		t.Error(diff)
	}
	a.Spec.EventMetadata = map[string]string{}
	for i := range 2 * maxMetadata {
		a.Spec.EventMetadata[fmt.Sprint("key", i)] = strings.Repeat("x", 2*maxValue)
	}
	if got := enrich(e, a).Metadata; len(got) != maxMetadata || len(got["key0"]) != maxValue {
		t.Errorf("%d entries of %d bytes are left", len(got), len(got["key0"]))
	}
	if e.Metadata["event.toolkit.fluxcd.io/env"] != "annotation" {
		t.Error("the event was changed, which others get too")
	}
}

func TestTheSameIsNotToldTwice(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	applied, failed := event("Kustomization", "app", "info", "applied").Event, event("Kustomization", "app", "error", "failed").Event
	planning := event("Kustomization", "app", "info", "planning").Event
	planning.Reason = meta.ProgressingReason
	// The end of a pass only updates commit statuses, but still counts as a recovery.
	finished := event("Kustomization", "app", "info", "finished").Event
	finished.Metadata = map[string]string{"kustomize.toolkit.fluxcd.io/commit_status": "update"}
	other := event("Kustomization", "web", "info", "applied").Event
	newer := event("Kustomization", "app", "info", "applied").Event
	newer.Metadata = map[string]string{"kustomize.toolkit.fluxcd.io/revision": newCommit}
	var r recent
	for i, step := range []struct {
		event eventv1.Event
		after time.Duration
		seen  bool
	}{
		{applied, 0, false}, {applied, time.Second, true}, {other, 0, false}, {newer, 0, false},
		{failed, 0, false}, {planning, 0, false}, {failed, time.Second, true}, {planning, 0, true},
		// A recovery and the next failure are both news.
		{applied, time.Second, false}, {failed, time.Second, false}, {finished, 0, false}, {failed, time.Second, false}, {failed, repeatPause - time.Second, true}, {failed, time.Second, false},
	} {
		now = now.Add(step.after)
		if got := r.seen(step.event, now); got != step.seen {
			t.Errorf("step %d: seen is %v", i, got)
		}
	}
	for i := range 2 * maxRecent {
		r.seen(event("Kustomization", fmt.Sprint(i), "info", "m").Event, now)
	}
	if len(r.objects) > maxRecent+1 {
		t.Errorf("%d objects are remembered", len(r.objects))
	}
}

func TestCommitStatusNames(t *testing.T) {
	p := &notificationv1beta3.Provider{ObjectMeta: metaOf("apps", "github")}
	e := event("Kustomization", "GitOps", "info", "m").Event
	for expression, want := range map[string]string{"": "kustomization/gitops/7d0cdc51",
		"event.involvedObject.name + '/' + provider.metadata.name + '/' + alert.metadata.name": "GitOps/github/alert"} {
		p.Spec.CommitStatusExpr = expression
		if got, err := commitStatus(t.Context(), p, alertOn(), e); err != nil || got != want {
			t.Errorf("%q: %q, %v", expression, got, err)
		}
	}
	for _, expression := range []string{"(", "1", "''", "event.nothing.name", "'a'" + strings.Repeat(" ", maxExpr)} {
		p.Spec.CommitStatusExpr = expression
		if got, err := commitStatus(t.Context(), p, alertOn(), e); err == nil {
			t.Errorf("%.20q: %q", expression, got)
		}
	}
}
