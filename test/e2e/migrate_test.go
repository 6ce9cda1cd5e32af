// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/cli/state/adopt"
	"github.com/yuba-dev/yuba/internal/home"
	kinds "github.com/yuba-dev/yuba/internal/home/install"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

const (
	legacyRevision = "main@sha1:4f0a9e4a5bd0f0d6b1d5f7f0f2a3b4c5d6e7f809"
	legacyApplied  = "plan-main-0000000000"
	legacyPlan     = "plan-main-4f0a9e4a5b"
	legacyLock     = "6c1d2d1e-0f4b-4c53-9a3d-0a0b0c0d0e0f"
)

// startLegacy starts an API without a controller, with Flux's kinds.
func startLegacy(t *testing.T, ns string) *yuba { return startBare(t, ns, crd.FS) }

// startBare starts an API without a controller, with these kinds and Flux's, and a namespace.
func startBare(t *testing.T, ns string, crds fs.FS) *yuba {
	t.Helper()
	dir, err := os.MkdirTemp("", "yuba-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	api, err := home.Start(ctx, home.Options{DataDir: filepath.Join(dir, "api"), APIAddress: "127.0.0.1:0", Version: "test", CRDs: crds,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := api.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := kinds.Kinds(ctx, api.RESTConfig(), crd.Flux()); err != nil {
		t.Fatal(err)
	}
	y := &yuba{dir: filepath.Dir(api.Kubeconfig())}
	if y.client, err = client.NewWithWatch(api.RESTConfig(), client.Options{Scheme: kubetest.Scheme()}); err != nil {
		t.Fatal(err)
	}
	y.create(t, namespaceObject(ns))
	return y
}

// control starts "yuba controller" on the API.
func (y *yuba) control(t *testing.T) {
	t.Helper()
	y.cmd = exec.Command(filepath.Join(programs, "yuba"), "controller", "--kubeconfig", y.kubeconfig(), "--data-dir", y.dir+"-controller",
		"--content-address", "127.0.0.1:0", "--tofu", tofutest.Tofu(t), "--provider-mirror", providerMirror())
	if err := proctest.Start(y.cmd, "Yuba's controllers are ready", &y.log, patience); err != nil {
		t.Fatal(err)
	}
	y.endsWith(t)
}

// repository creates a GitRepository with an artifact, like source-controller.
func (y *yuba) repository(t *testing.T, ns, name, hcl string) {
	t.Helper()
	var packed bytes.Buffer
	digest, err := archive.PackInline(map[string]string{"app/main.tf": hcl}, &packed)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(packed.Bytes()) })) //nolint:errcheck // the client reports it
	t.Cleanup(server.Close)
	obj := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: sourcev1.GitRepositorySpec{URL: "https://git.example.org/infra", Interval: metav1.Duration{Duration: time.Minute}, Suspend: true}}
	y.create(t, obj)
	obj.Status.Artifact = &meta.Artifact{Path: "a.tar.gz", URL: server.URL + "/a.tar.gz", Revision: legacyRevision, Digest: digest, LastUpdateTime: metav1.Now()}
	if err := y.client.Status().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// legacy creates a stack as tofu-controller leaves it: applied, with its finalizer and its status.
func (y *yuba) legacy(t *testing.T, ns, name string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: []string{infrav1.Finalizer}}}
	obj.Spec.Interval, obj.Spec.Path = metav1.Duration{Duration: time.Hour}, "./app"
	obj.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: infrav1.SourceKindGitRepository, Name: "infra"}
	for _, c := range append([]func(*infrav1.Terraform){variable("name", "world")}, change...) {
		c(obj)
	}
	pending := obj.Status.Plan.Pending
	y.create(t, obj)
	now := metav1.Now()
	obj.Status = infrav1.TerraformStatus{ObservedGeneration: 1, LastAppliedRevision: legacyRevision, LastAttemptedRevision: legacyRevision, LastPlannedRevision: legacyRevision,
		LastPlannedGeneration: 1, LastPlanAt: &now, AvailableOutputs: []string{"greeting", "parts"},
		Plan: infrav1.PlanStatus{LastApplied: legacyApplied, Pending: pending},
		Conditions: []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: "TerraformOutputsWritten", Message: "Outputs written: " + legacyRevision,
			LastTransitionTime: now, ObservedGeneration: 1}}}
	if err := y.client.Status().Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func inState(workspace, suffix string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		o.Spec.Workspace = workspace
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: suffix, InClusterConfig: true, Labels: map[string]string{"team": "net"}}
	}
}

// Everything from tofu-controller continues to work: names of states, locks, pending plans. And
// tofu-controller can take over again.
func TestWhatTofuControllerLeftGoesOnAndCanBeGivenBack(t *testing.T) {
	const ns = "team-a"
	y := startLegacy(t, ns)
	y.repository(t, ns, "infra", greeting)
	plain := map[string]*plainTofu{}
	for _, suffix := range []string{"simple", "shared", "locked", "pending", "leaving"} {
		plain[suffix] = newPlainTofu(t, y, ns, suffix, greeting)
		if suffix == "shared" {
			plain[suffix].run("workspace", "new", "prod")
		}
		plain[suffix].run("apply", "-auto-approve", "-input=false")
	}
	simple := y.legacy(t, ns, "simple", auto, outputsTo("simple-out"), func(o *infrav1.Terraform) { o.Spec.WriteOutputsToSecret.Outputs = []string{"greeting"} })
	prod := y.legacy(t, ns, "prod", auto, inState("prod", "shared"))
	locked := y.legacy(t, ns, "locked", auto)
	pending := y.legacy(t, ns, "pending", func(o *infrav1.Terraform) {
		o.Spec.ApprovePlan, o.Spec.Vars[0].Value.Raw, o.Status.Plan.Pending = legacyPlan, []byte(`"Yuba"`), legacyPlan
	})
	leaving := y.legacy(t, ns, "leaving", func(o *infrav1.Terraform) {
		o.Finalizers, o.Spec.SourceRef.Name = append(o.Finalizers, infrav1.DependencyFinalizerPrefix+"gone"), "missing"
	})
	y.delete(t, leaving)
	owner := metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Terraform", Name: simple.Name, UID: simple.UID, Controller: ptr.To(true)}
	y.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "simple-out", OwnerReferences: []metav1.OwnerReference{owner}},
		Data: map[string][]byte{"greeting": []byte("hello world")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tfplan-default-simple", OwnerReferences: []metav1.OwnerReference{owner}},
			Data: map[string][]byte{"tfplan": []byte("binary")}})
	y.lockState(t, locked, state.LockInfo{ID: legacyLock, Operation: "OperationTypeApply", Who: "runner@locked-tf-runner"})
	before := y.secrets(t, ns)

	y.foretold(t, ns, map[string]bool{"simple": false, "prod": false, "locked": true, "pending": false, "leaving": false})

	y.control(t)
	y.awaitGone(t, leaving)
	for _, obj := range []*infrav1.Terraform{simple, prod} {
		seen := y.await(t, obj, "it continues", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastRun != nil })
		if seen.Status.Plan.Summary != "+0 ~0 -0" || seen.Status.LastAppliedRevision != legacyRevision || seen.Status.Plan.LastApplied != legacyApplied {
			t.Errorf("%s: it planned %s, and applied is %+v of %q", obj.Name, seen.Status.Plan.Summary, seen.Status.Plan, seen.Status.LastAppliedRevision)
		}
	}
	y.await(t, locked, "it waits for the lock", failedWith(infrav1.ReasonLockHeld))
	seen := y.await(t, pending, "it is planned again", func(o *infrav1.Terraform) bool { return waiting(o) && o.Status.Plan.Digest != "" })
	if id := seen.Status.Plan.Pending; seen.Status.Plan.Approved || !strings.HasPrefix(id, legacyPlan) || id == legacyPlan || seen.Status.Plan.Summary != "+0 ~1 -0" {
		t.Errorf("the new plan is %+v", seen.Status.Plan)
	}
	y.do(t, "force-unlock", name(locked), "--lock-id", legacyLock)
	y.await(t, locked, "it continues", ready)
	if diff := cmp.Diff(before, y.secrets(t, ns)); diff != "" {
		t.Errorf("states, outputs or plans are not what they were:\n%s", diff)
	}
	y.do(t, "approve", name(pending), "--wait", "--timeout", "60s")

	y.givenBack(t, ns, plain)
}

// secrets are all Secrets that are neither Yuba's own nor the API's.
func (y *yuba) secrets(t *testing.T, ns string) map[string]map[string][]byte {
	t.Helper()
	var list corev1.SecretList
	if err := y.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string][]byte{}
	for _, s := range list.Items {
		all[s.Name] = s.Data
	}
	return all
}

// foretold checks which stacks need action according to "yuba adopt".
func (y *yuba) foretold(t *testing.T, ns string, want map[string]bool) {
	t.Helper()
	out, news, code := y.run(t, "adopt", "--dry-run", "-n", ns, "-o", "json")
	var report adopt.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 5 {
		t.Fatalf("yuba adopt ended with %d: %v\n%s%s", code, err, out, news)
	}
	got := map[string]bool{}
	for _, s := range report.Stacks {
		got[s.Name] = s.Attention
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("foretold was (-want +got):\n%s\n%s", diff, out)
	}
	for _, words := range []string{"Yuba uses Secret tfstate-prod-shared as it is", "runner@locked-tf-runner holds the lock", legacyPlan + " is pending, and spec.approvePlan names it",
		"Secret tfplan-default-simple", "The stack has been in deletion since "} {
		if !strings.Contains(out, words) {
			t.Errorf("nothing says %q:\n%s", words, out)
		}
	}
}

// givenBack stops Yuba and checks what another controller would find.
func (y *yuba) givenBack(t *testing.T, ns string, plain map[string]*plainTofu) {
	t.Helper()
	if err := y.terminate(); err != nil {
		t.Errorf("yuba controller ended with: %v", err)
	}
	var leases coordinationv1.LeaseList
	if err := y.client.List(t.Context(), &leases, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, l := range leases.Items {
		if l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
			t.Errorf("Lease %s is held by %s", l.Name, *l.Spec.HolderIdentity)
		}
	}
	for suffix, p := range plain {
		if suffix == "pending" {
			p.env[3] = "TF_VAR_name=Yuba"
		}
		p.run("plan", "-input=false", "-detailed-exitcode") // fails when it finds changes
	}
	var stacks infrav1.TerraformList
	if err := y.client.List(t.Context(), &stacks, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, s := range stacks.Items {
		left := fmt.Sprint(s.Finalizers, s.Annotations, s.Labels)
		if want := fmt.Sprint([]string{infrav1.Finalizer}, map[string]string(nil), map[string]string(nil)); left != want {
			t.Errorf("%s is left with %s", s.Name, left)
		}
	}
}

// A cluster that does not answer is named, and nobody is told to start another home.
func TestControllersOnAClusterThatDoesNotAnswer(t *testing.T) {
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	y := &yuba{dir: t.TempDir()}
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: \"https://" + address + "\"}}]\n" +
		"contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: t}}]\ncurrent-context: a\n"
	if err := os.WriteFile(y.kubeconfig(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, news, code := y.run(t, "controller", "--data-dir", y.dir+"-controller", "--content-address", "127.0.0.1:0", "--tofu", tofutest.Tofu(t))
	if code != 1 || !strings.Contains(news, "start the controllers: https://"+address+" refused the connection") || strings.Contains(news, "yuba up") {
		t.Errorf("code %d:\n%s", code, news)
	}
}
