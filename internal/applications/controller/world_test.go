// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/controller"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world is a real API with the controllers of applications. The test plays the controller of stacks.
type world struct {
	testing.TB
	client.Client
	objects   dynamic.Interface
	namespace string
	// applications are the controllers.
	applications *controller.Applications
	stop         func()
}

// start starts the controllers. The returned function stops them.
func start(t testing.TB) (stop func()) {
	t.Helper()
	_, stop = controllers(t)
	return stop
}

func controllers(t testing.TB) (a *controller.Applications, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	mgr, err := ctrl.NewManager(apitest.API(t).RESTConfig(), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(time.Duration(-1)), // however long a slow machine takes
		// controller-runtime's priority queue may hang when it is shut down while it hands out items.
		Controller: config.Controller{UsePriorityQueue: new(false)}})
	if err != nil {
		t.Fatal(err)
	}
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	a = &controller.Applications{Client: mgr.GetClient(), Reader: direct, Events: mgr.GetEventRecorder("test"), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		LoneServer: true}
	if err := a.SetupWithManager(ctx, mgr); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return a, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := stillWorld(t)
	w.applications, w.stop = controllers(t)
	t.Cleanup(func() { w.stop() })
	return w
}

// stillWorld is a world without controllers.
func stillWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, Client: apitest.Client(t), namespace: apitest.Namespace(t)}
	var err error
	if w.objects, err = dynamic.NewForConfig(apitest.API(t).RESTConfig()); err != nil {
		t.Fatal(err)
	}
	return w
}

// patience is how long a test waits for anything.
const patience = time.Minute

// until waits until something is true, and fails with what it says otherwise.
func (w *world) until(what string, done func() (bool, string)) {
	w.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var ok bool
		if ok, last = done(); ok {
			return
		}
	}
	w.Fatalf("waited in vain: %s; last seen: %s", what, last)
}

const bucketYAML = `
metadata: {name: KINDs}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"bucketName":{"type":"string"},"size":{"type":"integer","default":3}},"required":["bucketName"]}'}
  backend:
    type: Terraform
    terraform:
      prefix: KIND-
      inline:
        main.tf: |
          variable "bucket_name" { type = string }
          variable "size" { type = number }
          output "endpoint" { value = var.bucket_name }
          output "password" {
            value     = var.bucket_name
            sensitive = true
          }
      outputs: [endpoint, password]
      identity: {default: reader, allowed: [writer]}
`

// define makes a definition of a kind from text with KIND in it.
func (w *world) define(kind, text string) *appv1.ApplicationDefinition {
	w.Helper()
	d := w.read(kind, text)
	if err := w.Create(context.Background(), d); err != nil {
		w.Fatal(err)
	}
	return d
}

// read reads a definition of a kind from text with KIND in it.
func (w *world) read(kind, text string) *appv1.ApplicationDefinition {
	w.Helper()
	d := &appv1.ApplicationDefinition{}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "kind: KIND", "kind: "+kind), "KIND", strings.ToLower(kind))
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		w.Fatal(err)
	}
	return d
}

// awaitDefinition waits for the reason of a definition's condition Ready.
func (w *world) awaitDefinition(d *appv1.ApplicationDefinition, reason string) string {
	w.Helper()
	message := ""
	w.until("definition "+d.Name+" is "+reason, func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
			return false, err.Error()
		}
		c := apimeta.FindStatusCondition(d.Status.Conditions, appv1.ConditionReady)
		if c == nil {
			return false, "no condition"
		}
		message = c.Message
		return c.Reason == reason && c.ObservedGeneration == d.Generation, c.Reason + ": " + c.Message
	})
	return message
}

func (w *world) resource(kind string) dynamic.ResourceInterface {
	return w.objects.Resource(appv1.InstanceVersion.WithResource(strings.ToLower(kind) + "s")).Namespace(w.namespace)
}

// make creates an instance, as soon as the API serves the kind.
func (w *world) make(kind, name string, spec map[string]any, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	w.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(kind))
	o.SetName(name)
	for _, f := range change {
		f(o)
	}
	var made *unstructured.Unstructured
	w.until("the API accepts "+kind+" "+name, func() (bool, string) {
		var err error
		made, err = w.resource(kind).Create(context.Background(), o, metav1.CreateOptions{FieldValidation: "Strict"})
		return err == nil, fmt.Sprint(err)
	})
	return made
}

// status reads an instance and its status.
func (w *world) status(kind, name string) (*unstructured.Unstructured, appv1.InstanceStatus) {
	w.Helper()
	o, err := w.resource(kind).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	var s appv1.InstanceStatus
	content, _, err := unstructured.NestedMap(o.Object, "status")
	if err != nil {
		w.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &s); err != nil {
		w.Fatal(err)
	}
	return o, s
}

// await waits for the phase of an instance, and returns its status and the message of Ready.
func (w *world) await(kind, name, phase string) (s appv1.InstanceStatus, message string) {
	w.Helper()
	w.until(kind+" "+name+" is "+phase, func() (bool, string) {
		var o *unstructured.Unstructured
		o, s = w.status(kind, name)
		if c := apimeta.FindStatusCondition(s.Conditions, appv1.ConditionReady); c != nil {
			message = c.Message
		}
		return s.Phase == phase && s.ObservedGeneration == o.GetGeneration(), s.Phase + ": " + message
	})
	return s, message
}

// stack waits for a stack.
func (w *world) stack(name string, done ...func(*infrav1.Terraform) bool) *infrav1.Terraform {
	w.Helper()
	t := &infrav1.Terraform{}
	w.until("stack "+name, func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: name}, t); err != nil {
			return false, err.Error()
		}
		for _, f := range done {
			if !f(t) {
				return false, fmt.Sprintf("%+v", t.Spec)
			}
		}
		return true, ""
	})
	return t
}

// play writes the status of a stack.
func (w *world) play(name string, change func(*infrav1.Terraform)) *infrav1.Terraform {
	w.Helper()
	var t *infrav1.Terraform
	w.until("status of stack "+name, func() (bool, string) {
		t = w.stack(name)
		t.Status.ObservedGeneration = t.Generation
		change(t)
		err := w.Status().Update(context.Background(), t)
		return err == nil, fmt.Sprint(err)
	})
	return t
}

func ready(t *infrav1.Terraform, status metav1.ConditionStatus, message string) {
	apimeta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{Type: infrav1.ConditionReady, Status: status, Reason: "Test", Message: message, ObservedGeneration: t.Generation})
}

// apply plays that a stack is applied, with these outputs; those in open are not sensitive.
func (w *world) apply(name string, outputs map[string]string, open ...string) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-outputs"}, Data: map[string][]byte{}}
	for key, value := range outputs {
		secret.Data[key] = []byte(value)
	}
	note := inputs.OpenOutputs{Open: open}.Annotation(secret.Data)
	secret.Annotations = map[string]string{infrav1.OpenOutputsAnnotation: note}
	if err := w.Create(context.Background(), secret); apierrors.IsAlreadyExists(err) {
		err = w.Update(context.Background(), secret)
		if err != nil {
			w.Fatal(err)
		}
	} else if err != nil {
		w.Fatal(err)
	}
	w.play(name, func(t *infrav1.Terraform) {
		t.Status.Plan = infrav1.PlanStatus{LastApplied: "plan-1", Summary: "+1 ~0 -0"}
		t.Status.LastAppliedRevision, t.Status.OutputsSecret, t.Status.OutputsDigest = "inline", secret.Name, note
		t.Status.OpenOutputsDigest = t.SealOfOpenOutputs(note)
		ready(t, metav1.ConditionTrue, "Applied")
	})
}
