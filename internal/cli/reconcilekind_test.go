// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func event(namespace, kind, name, level, reason, message string, at time.Time) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: name + "."}, InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name},
		Type: level, Reason: reason, Message: message, FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at)}
}

// answer plays the controller of an object: when a look is asked for, it tells of its progress and then of the outcome.
func answer(t *testing.T, list client.ObjectList, namespace, name string, outcome metav1.Condition, revision string) {
	t.Helper()
	c := apitest.Client(t)
	ctx, cancel := context.WithCancel(context.Background())
	watch, err := c.Watch(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	finished := make(chan struct{})
	t.Cleanup(func() { cancel(); <-finished })
	go func() {
		defer close(finished)
		defer watch.Stop()
		old := ""
		for e := range watch.ResultChan() {
			o, ok := e.Object.(client.Object)
			if !ok {
				continue
			}
			request := o.GetAnnotations()[meta.ReconcileRequestAnnotation]
			if e.Type == apiwatch.Added {
				old = request // it was there before
			}
			if request == old {
				continue
			}
			outcome.ObservedGeneration = o.GetGeneration()
			working := metav1.Condition{Type: meta.ReconcilingCondition, Status: metav1.ConditionTrue, Reason: "Progressing", Message: "building manifests"}
			wait := metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionUnknown, Reason: "Progressing", Message: "Reconciliation in progress"}
			for _, c2 := range [][]metav1.Condition{{working, wait}, {outcome}} {
				var conditions *[]metav1.Condition
				switch o := o.(type) {
				case *sourcev1.GitRepository:
					conditions = &o.Status.Conditions
					if c2[0].Type == meta.ReadyCondition {
						o.Status.SetLastHandledReconcileRequest(request)
						o.Status.Artifact = artifact(revision)
					}
				case *kustomizev1.Kustomization:
					conditions = &o.Status.Conditions
					if c2[0].Type == meta.ReadyCondition {
						o.Status.SetLastHandledReconcileRequest(request)
						o.Status.LastAppliedRevision = revision
					}
				}
				*conditions = nil
				for _, one := range c2 {
					apimeta.SetStatusCondition(conditions, one)
				}
				if err := c.Status().Update(ctx, o); err != nil && ctx.Err() == nil {
					t.Errorf("update the status: %v", err)
				}
			}
			return
		}
	}()
}

func outcome(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: message}
}

func TestALookAtASource(t *testing.T) {
	ns := landscape(t)
	answer(t, &sourcev1.GitRepositoryList{}, ns, "infra", outcome(metav1.ConditionTrue, "Succeeded", "stored artifact"), digest)
	got := yuba(t, ns, "reconcile", "source", "git", "infra")
	got.want(t, ui.ExitOK, digest+"\n", "Reconciling GitRepository/"+ns+"/infra …", "building manifests", "is ready: stored artifact")
}

func TestALookThatFails(t *testing.T) {
	ns := landscape(t)
	if err := apitest.Client(t).Create(context.Background(), event(ns, "GitRepository", "infra", "Warning", "GitOperationFailed", "the host key is another one", time.Now())); err != nil {
		t.Fatal(err)
	}
	answer(t, &sourcev1.GitRepositoryList{}, ns, "infra", outcome(metav1.ConditionFalse, "GitOperationFailed", "failed to checkout"), commit)
	yuba(t, ns, "reconcile", "source", "git", ns+"/infra", "-o", "json").want(t, ui.ExitFailure, "",
		"reconcile GitRepository/"+ns+"/infra: failed to checkout", "GitOperationFailed: the host key is another one")
}

func TestALookAtAKustomization(t *testing.T) {
	ns := landscape(t)
	answer(t, &sourcev1.GitRepositoryList{}, ns, "infra", outcome(metav1.ConditionTrue, "Succeeded", "stored artifact"), commit)
	answer(t, &kustomizev1.KustomizationList{}, ns, "root", outcome(metav1.ConditionTrue, "ReconciliationSucceeded", "Applied revision"), commit)
	yuba(t, ns, "reconcile", "ks", "root", "--with-source").want(t, ui.ExitOK, commit+"\n",
		"Reconciling GitRepository/"+ns+"/infra …", "Reconciling Kustomization/"+ns+"/root …", "Kustomization/"+ns+"/root is ready: Applied revision")
}

func TestALookThatHasToWait(t *testing.T) {
	ns := landscape(t)
	yuba(t, ns, "reconcile", "kustomization", "team").want(t, ui.ExitWaiting, "", "it is suspended. Resume it:\n    yuba resume kustomization "+ns+"/team")
	yuba(t, ns, "reconcile", "kustomization", "root", "--timeout", "1s").want(t, ui.ExitWaiting, "", "no server reconciled it within --timeout")
	answer(t, &kustomizev1.KustomizationList{}, ns, "root", outcome(metav1.ConditionFalse, meta.DependencyNotReadyReason, "dependency 'a/b' is not ready"), commit)
	yuba(t, ns, "reconcile", "kustomization", "root").want(t, ui.ExitWaiting, "", "dependency 'a/b' is not ready")
	yuba(t, ns, "reconcile", "source", "git", "infra", "--wait=false").want(t, ui.ExitOK, "", "yuba get gitrepositories "+ns+"/infra")
	yuba(t, ns, "reconcile", "source", "git", "nope").want(t, ui.ExitNotFound, "", "there is no such GitRepository")
	yuba(t, ns, "reconcile", "source").want(t, ui.ExitOK, yuba(t, ns, "help", "reconcile", "source").out)
	yuba(t, ns, "reconcile", "source", "external", "x").want(t, ui.ExitUsage, "", "there is no command")
}

func TestWhatIsHeldBackIsConfirmed(t *testing.T) {
	ns := landscape(t)
	yuba(t, ns, "reconcile", "ks", "root", "--confirm-prune").want(t, ui.ExitFailure, "", "no pruning is held")
	c := apitest.Client(t)
	var root kustomizev1.Kustomization
	key := client.ObjectKey{Namespace: ns, Name: "root"}
	if err := c.Get(context.Background(), key, &root); err != nil {
		t.Fatal(err)
	}
	root.Status.Conditions = condition(metav1.ConditionFalse, "PruneHeld", "pruning 20 of 30 objects requires confirmation")
	if err := c.Status().Update(context.Background(), &root); err != nil {
		t.Fatal(err)
	}
	answer(t, &kustomizev1.KustomizationList{}, ns, "root", outcome(metav1.ConditionFalse, "PruneHeld", "pruning 20 of 30 objects requires confirmation"), commit)
	yuba(t, ns, "reconcile", "ks", "root").want(t, ui.ExitWaiting, "", "20 of 30 objects", "yuba reconcile kustomization "+ns+"/root --confirm-prune")
	answer(t, &kustomizev1.KustomizationList{}, ns, "root", outcome(metav1.ConditionTrue, "ReconciliationSucceeded", "Applied"), commit)
	yuba(t, ns, "reconcile", "ks", "root", "--confirm-prune").want(t, ui.ExitOK, commit+"\n")
	if err := c.Get(context.Background(), key, &root); err != nil || root.Annotations["yuba.dev/confirm-prune"] != commit {
		t.Errorf("confirmed is %q, %v", root.Annotations["yuba.dev/confirm-prune"], err)
	}
}

func TestSuspendAndResume(t *testing.T) {
	ns := landscape(t)
	suspended := func() string {
		return columnsOf(yuba(t, ns, "get", "all", "--no-header").out, ns)
	}
	yuba(t, ns, "suspend", "source", "git", "infra", "-o", "name").want(t, ui.ExitOK, "gitrepository.source.toolkit.fluxcd.io/infra\n", "GitRepository/"+ns+"/infra is suspended.")
	yuba(t, ns, "suspend", "kustomization", "--all").want(t, ui.ExitOK, "", "Kustomization/"+ns+"/root is suspended.", "Kustomization/"+ns+"/team is suspended.")
	yuba(t, ns, "suspend", "alert", "loud").want(t, ui.ExitOK, "", "Alert/"+ns+"/loud is suspended.")
	if all := suspended(); !strings.Contains(all, "gitrepository/infra  main@sha1:0123456789  True  Suspended; stored") || !strings.Contains(all, "alert/loud  Suspended") {
		t.Errorf("got %s", all)
	}
	yuba(t, ns, "resume", "ks", "root", "team").want(t, ui.ExitOK, "", "Kustomization/"+ns+"/root is resumed.", "Kustomization/"+ns+"/team is resumed.")
	if all := suspended(); !strings.Contains(all, "kustomization/team  main@sha1:0123456789  True  Applied") {
		t.Errorf("got %s", all)
	}
	yuba(t, ns, "suspend", "ks").want(t, ui.ExitUsage, "", "an argument is missing")
	yuba(t, ns, "suspend", "ks", "--all", "root").want(t, ui.ExitUsage, "", "not both")
	yuba(t, ns, "suspend", "bucket", "--all").want(t, ui.ExitUsage, "") // a stack has no such flag together with a name
	yuba(t, ns, "suspend", "source", "bucket", "--all").want(t, ui.ExitOK, "", "No Buckets found")
}

func TestDelete(t *testing.T) {
	ns := landscape(t)
	yuba(t, ns, "delete", "kustomization", "root").want(t, ui.ExitUsage, "", "Deleting Kustomization/"+ns+"/root deletes the 4 objects that it applied")
	yuba(t, ns, "delete", "kustomization", "root", "--yes").want(t, ui.ExitOK, "", "Kustomization/"+ns+"/root is deleted.")
	yuba(t, ns, "delete", "source", "oci", "network").want(t, ui.ExitOK, "", "OCIRepository/"+ns+"/network is deleted.")
	yuba(t, ns, "delete", "source", "oci", "network").want(t, ui.ExitNotFound, "", "there is no such OCIRepository")
}

func TestAStackThatIsNotThereIsToldTheSameEverywhere(t *testing.T) {
	ns := apitest.Namespace(t)
	for _, line := range []string{"logs nope", "logs nope -f", "logs nope --tail 1", "plan nope", "status nope", "reconcile nope", "list nope"} {
		yuba(t, ns, strings.Fields(line)...).want(t, ui.ExitNotFound, "", "/nope: there is no such stack. List the stacks:\n    yuba list -n "+ns)
	}
}
