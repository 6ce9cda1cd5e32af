// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/backend/pod"
)

var kubeconfig = flag.String("kubeconfig", "", "the cluster with Yuba, which these tests break and repair")

// system is the namespace of Yuba.
const system = "yuba-system"

var (
	api client.Client
	raw kubernetes.Interface
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard()) // warnings of the API are part of some tests
	if *kubeconfig == "" {
		fmt.Fprintln(os.Stderr, "these tests need a cluster with Yuba: run \"make test-cluster\", or name one with -kubeconfig")
		os.Exit(1)
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		config.QPS, config.Burst = 100, 200
		scheme := runtime.NewScheme()
		utilruntime.Must(clientgoscheme.AddToScheme(scheme))
		for _, add := range []func(*runtime.Scheme) error{infrav1.AddToScheme, tenantv1.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme,
			apiextensionsv1.AddToScheme} {
			utilruntime.Must(add(scheme))
		}
		if api, err = client.New(config, client.Options{Scheme: scheme}); err == nil {
			raw, err = kubernetes.NewForConfig(config)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what should take seconds.
const patience = 90 * time.Second

// team is a namespace for stacks.
type team struct {
	t    *testing.T
	name string
}

// newTeam makes a namespace with the restricted Pod Security Standard and, unless bare, the runners'
// service account.
func newTeam(t *testing.T, bare bool) *team {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	must(t, api.Create(t.Context(), ns))
	t.Cleanup(func() { removeTeam(t, ns.Name) })
	tm := &team{t: t, name: ns.Name}
	if !bare {
		tm.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: infrav1.DefaultServiceAccount}})
	}
	return tm
}

// removeTeam deletes a namespace without waiting for the destruction of what its stacks made.
func removeTeam(t *testing.T, name string) {
	ctx := context.Background()
	var list infrav1.TerraformList
	if err := api.List(ctx, &list, client.InNamespace(name)); err != nil {
		t.Error(err)
	}
	for i := range list.Items {
		if err := api.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
	if err := api.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create creates an object in the namespace.
func (tm *team) create(o client.Object) {
	tm.t.Helper()
	o.SetNamespace(tm.name)
	must(tm.t, api.Create(tm.t.Context(), o))
}

// deploy creates a stack of an inline program that is applied automatically.
func (tm *team) deploy(name, program string, change func(*infrav1.TerraformSpec)) {
	tm.t.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.TerraformSpec{
		ApprovePlan: infrav1.ApprovePlanAuto, Interval: metav1.Duration{Duration: time.Hour}, Inline: map[string]string{"main.tf": program}}}
	if change != nil {
		change(&obj.Spec)
	}
	tm.create(obj)
}

func (tm *team) stack(name string) *infrav1.Terraform {
	tm.t.Helper()
	var obj infrav1.Terraform
	must(tm.t, api.Get(tm.t.Context(), client.ObjectKey{Namespace: tm.name, Name: name}, &obj))
	return &obj
}

// await waits until the stack is as it should be: until is empty, or what is missing.
func (tm *team) await(name, sentence string, until func(*infrav1.Terraform) string) *infrav1.Terraform {
	tm.t.Helper()
	var obj *infrav1.Terraform
	eventually(tm.t, tm.name+"/"+name+": "+sentence, func() string {
		obj = tm.stack(name)
		if missing := until(obj); missing != "" {
			return missing + "\n" + describe(obj)
		}
		return ""
	})
	return obj
}

// eventually waits until nothing is missing.
func eventually(t *testing.T, sentence string, missing func() string) {
	t.Helper()
	within(t, patience, sentence, missing)
}

func within(t *testing.T, patience time.Duration, sentence string, missing func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		text := missing()
		if text == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %s: %s", sentence, patience, text)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func describe(obj *infrav1.Terraform) string {
	text := fmt.Sprintf("  current run %+v, last run %+v\n", obj.Status.CurrentRun, obj.Status.LastRun)
	for _, c := range obj.Status.Conditions {
		text += fmt.Sprintf("  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

// applied is for await.
func applied(obj *infrav1.Terraform) string {
	if ready := conditions.Of(obj, infrav1.ConditionReady); ready.Status != metav1.ConditionTrue || obj.Status.LastAppliedRevision == "" {
		return "it is not applied"
	}
	return ""
}

// says is for await: Ready contains the text.
func says(text string) func(*infrav1.Terraform) string {
	return func(obj *infrav1.Terraform) string {
		if ready := conditions.Of(obj, infrav1.ConditionReady); !strings.Contains(ready.Message, text) {
			return fmt.Sprintf("Ready does not say %q", text)
		}
		return ""
	}
}

// pods are the living runner Pods of the namespace.
func (tm *team) pods() []corev1.Pod {
	tm.t.Helper()
	var list corev1.PodList
	must(tm.t, api.List(tm.t.Context(), &list, client.InNamespace(tm.name), client.MatchingLabels{pod.LabelName: pod.Name}))
	var living []corev1.Pod
	for _, p := range list.Items {
		if p.DeletionTimestamp.IsZero() && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			living = append(living, p)
		}
	}
	return living
}

// onlyPod is the one runner Pod of the namespace.
func (tm *team) onlyPod() corev1.Pod {
	tm.t.Helper()
	pods := tm.pods()
	if len(pods) != 1 {
		tm.t.Fatalf("%s has %d runner Pods, want 1", tm.name, len(pods))
	}
	return pods[0]
}

// leaders are the Pods of Yuba's controllers, the leader first.
func leaders(t *testing.T) []corev1.Pod {
	t.Helper()
	var list corev1.PodList
	must(t, api.List(t.Context(), &list, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": "yuba"}))
	lease, err := raw.CoordinationV1().Leases(system).Get(t.Context(), "yuba-controller", metav1.GetOptions{})
	must(t, err)
	var pods []corev1.Pod
	for _, p := range list.Items {
		if !p.DeletionTimestamp.IsZero() {
			continue
		}
		if lease.Spec.HolderIdentity != nil && strings.Contains(*lease.Spec.HolderIdentity, p.Name) {
			pods = append([]corev1.Pod{p}, pods...)
			continue
		}
		pods = append(pods, p)
	}
	return pods
}

// kill deletes a Pod without grace, as the loss of its node does.
func kill(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if err := api.Delete(t.Context(), p, client.GracePeriodSeconds(0)); !apierrors.IsNotFound(err) {
		must(t, err)
	}
}
