// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const composedYAML = `
metadata: {name: KINDs}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"cidr":{"type":"string"},"size":{"type":"integer","default":3},"note":{"type":"boolean","default":true}},"required":["cidr"]}'}
  backend:
    type: Composition
    composition:
      prefix: KIND-
      resources:
      - id: notes
        includeWhen: [spec.note]
        template:
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: "KIND-${metadata.name}-notes"}
          data: {vpc: "${resources.net.outputs.id}", size: "${spec.size}", secret: "${resources.db.outputsSecret}", host: "host-${resources.db.outputs.port}.${metadata.namespace}"}
      - id: db
        template:
          apiVersion: infra.contrib.fluxcd.io/v1alpha2
          kind: Terraform
          spec:
            vars:
            - {name: net, value: "${resources.net.outputs.id}"}
            - {name: size, value: "${spec.size}"}
            inline:
              main.tf: |
                variable "net" { type = string }
                variable "size" { type = number }
                output "port" { value = "${var.size}" }
      - id: net
        template:
          apiVersion: infra.contrib.fluxcd.io/v1alpha2
          kind: Terraform
          spec:
            approvePlan: auto
            vars: [{name: cidr, value: "${spec.cidr}"}]
            inline:
              main.tf: |
                variable "cidr" { type = string }
                output "id" { value = "vpc of ${var.cidr}" }
      outputs: {vpc: "${resources.net.outputs.id}", notes: "${resources.notes.name}"}
`

// configMap waits for a ConfigMap.
func (w *world) configMap(name string, done func(*corev1.ConfigMap) bool) *corev1.ConfigMap {
	w.Helper()
	m := &corev1.ConfigMap{}
	w.until("ConfigMap "+name, func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: name}, m); err != nil {
			return false, err.Error()
		}
		return done(m), strings.Join([]string{m.Data["vpc"], m.Data["size"]}, " ")
	})
	return m
}

// resourceState waits for the state of a resource in the status.
func (w *world) resourceState(kind, name, id, state string) string {
	w.Helper()
	message := ""
	w.until(kind+" "+name+": "+id+" is "+state, func() (bool, string) {
		_, s := w.status(kind, name)
		for _, r := range s.Resources {
			if r.ID == id {
				message = r.Message
				return r.State == state, r.State + ": " + r.Message
			}
		}
		return state == "", "no such resource"
	})
	return message
}

func TestAnInstanceBecomesSeveralObjectsOneAfterTheOther(t *testing.T) {
	w := newWorld(t)
	d := w.define("Platform", composedYAML)
	w.awaitDefinition(d, appv1.ReasonServed)
	o := w.make("Platform", "shop", map[string]any{"cidr": "10.0.0.0/16"})
	net := w.stack("platform-shop-net")
	if len(net.OwnerReferences) != 1 || net.OwnerReferences[0].UID != o.GetUID() || net.Spec.ApprovePlan != "auto" || !net.Spec.DestroyResourcesOnDeletion {
		t.Errorf("the stack is not the instance's: %+v %+v", net.ObjectMeta, net.Spec)
	}
	if net.Spec.WriteOutputsToSecret == nil || net.Spec.WriteOutputsToSecret.Name != "platform-shop-net-outputs" || len(net.Spec.WriteOutputsToSecret.Outputs) != 1 {
		t.Errorf("the outputs that others read are not written: %+v", net.Spec.WriteOutputsToSecret)
	}
	if message := w.resourceState("Platform", "shop", "db", appv1.StateWaiting); message != "It waits for net." {
		t.Errorf("the message is %q", message)
	}
	w.apply("platform-shop-net", map[string]string{"id": "vpc-1"}, "id")
	db := w.stack("platform-shop-db")
	if got := string(db.Spec.Vars[0].Value.Raw) + string(db.Spec.Vars[1].Value.Raw); got != `"vpc-1"3` {
		t.Errorf("the variables are %s", got)
	}
	w.play("platform-shop-db", func(t *infrav1.Terraform) {
		t.Status.Plan = infrav1.PlanStatus{Pending: "plan-1", Summary: "+1 ~2 -0"}
		ready(t, metav1.ConditionUnknown, "Plan generated")
	})
	s, message := w.await("Platform", "shop", appv1.PhaseAwaitingApproval)
	if s.Plan == nil || s.Plan.ID != "db/plan-1" || s.Plan.Change != 2 || !strings.Contains(message, "db (Terraform platform-shop-db): Plan db/plan-1 waits") {
		t.Errorf("the plan is %+v, the message %q", s.Plan, message)
	}
	if string(s.Outputs["vpc"].Raw) != `"vpc-1"` || len(s.Outputs) != 1 {
		t.Errorf("the outputs are %s", s.Outputs)
	}
	w.apply("platform-shop-db", map[string]string{"port": "5432"}, "port")
	m := w.configMap("platform-shop-notes", func(m *corev1.ConfigMap) bool { return true })
	if m.Data["vpc"] != "vpc-1" || m.Data["size"] != "3" || m.Data["host"] != "host-5432."+w.namespace || m.Data["secret"] != "platform-shop-db-outputs" {
		t.Errorf("the data are %v", m.Data)
	}
	s, _ = w.await("Platform", "shop", appv1.PhaseReady)
	if string(s.Outputs["notes"].Raw) != `"platform-shop-notes"` || len(s.Resources) != 3 || s.Plan != nil {
		t.Errorf("the status is %+v", s)
	}

	// Somebody changes an object, and deletes another one.
	m.Data["vpc"] = "elsewhere"
	if err := w.Update(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	w.configMap("platform-shop-notes", func(m *corev1.ConfigMap) bool { return m.Data["vpc"] == "vpc-1" })
	if err := w.Delete(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	w.configMap("platform-shop-notes", func(now *corev1.ConfigMap) bool { return now.UID != m.UID })

	// Somebody makes it immutable. It is replaced, because it can never be as it should be.
	m = w.configMap("platform-shop-notes", func(*corev1.ConfigMap) bool { return true })
	m.Data["vpc"], m.Immutable = "elsewhere", ptr.To(true)
	w.until("the ConfigMap is immutable", func() (bool, string) {
		now := w.configMap(m.Name, func(*corev1.ConfigMap) bool { return true })
		m.UID, m.ResourceVersion = now.UID, now.ResourceVersion
		return w.Update(context.Background(), m) == nil, ""
	})
	w.configMap("platform-shop-notes", func(now *corev1.ConfigMap) bool { return now.UID != m.UID && now.Data["vpc"] == "vpc-1" })

	// An output changes, and what it goes into with it.
	w.apply("platform-shop-net", map[string]string{"id": "vpc-2"}, "id")
	w.stack("platform-shop-db", func(t *infrav1.Terraform) bool { return string(t.Spec.Vars[0].Value.Raw) == `"vpc-2"` })
	w.apply("platform-shop-db", map[string]string{"port": "5432"}, "port")
	w.await("Platform", "shop", appv1.PhaseReady)

	// The instance does without one, and the definition without another.
	patch := []byte(`{"spec":{"note":false}}`)
	if _, err := w.resource("Platform").Patch(context.Background(), "shop", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("the ConfigMap goes", func() (bool, string) {
		return apierrors.IsNotFound(w.Get(context.Background(), client.ObjectKeyFromObject(m), m)), ""
	})
	w.resourceState("Platform", "shop", "notes", "")
	w.until("the definition is changed", func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
			return false, err.Error()
		}
		c := d.Spec.Backend.Composition
		c.Resources, c.Outputs = c.Resources[2:], nil
		err := w.Update(context.Background(), d)
		return err == nil, ""
	})
	w.awaitDefinition(d, appv1.ReasonServed)
	// Nothing reads the network's outputs any more, so it is changed first.
	w.stack("platform-shop-net", func(t *infrav1.Terraform) bool { return t.Spec.WriteOutputsToSecret == nil })
	w.apply("platform-shop-net", map[string]string{"id": "vpc-2"}, "id")
	db = w.stack("platform-shop-db", func(t *infrav1.Terraform) bool { return t.DeletionTimestamp != nil })
	w.release(db)
	w.await("Platform", "shop", appv1.PhaseReady)
}

func TestADeletedInstanceDeletesItsObjectsInReverse(t *testing.T) {
	w := newWorld(t)
	w.awaitDefinition(w.define("Landscape", composedYAML), appv1.ReasonServed)
	o := w.make("Landscape", "shop", map[string]any{"cidr": "10.0.0.0/16"})
	w.stack("landscape-shop-net")
	w.apply("landscape-shop-net", map[string]string{"id": "vpc-1"}, "id")
	w.stack("landscape-shop-db")
	w.apply("landscape-shop-db", map[string]string{"port": "1"}, "port")
	w.await("Landscape", "shop", appv1.PhaseReady)
	if err := w.resource("Landscape").Delete(context.Background(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	db := w.stack("landscape-shop-db", func(t *infrav1.Terraform) bool { return t.DeletionTimestamp != nil })
	if err := w.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: "landscape-shop-notes"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap that needs both stacks did not go first: %v", err)
	}
	if net := w.stack("landscape-shop-net"); net.DeletionTimestamp != nil {
		t.Error("the network goes before the database, which needs it")
	}
	w.play("landscape-shop-db", func(t *infrav1.Terraform) { ready(t, metav1.ConditionFalse, "it is not empty") })
	w.until("the deletion says what blocks it", func() (bool, string) {
		_, s := w.status("Landscape", "shop")
		return strings.Contains(s.Conditions[0].Message, "Terraform landscape-shop-db: The deletion is blocked: it is not empty"), s.Conditions[0].Message
	})
	patch := `{"metadata":{"annotations":{"` + appv1.AnnotationAbandon + `":"` + string(o.GetUID()) + `"}}}`
	if _, err := w.resource("Landscape").Patch(context.Background(), "shop", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.stack("landscape-shop-db", func(t *infrav1.Terraform) bool { return !t.Spec.DestroyResourcesOnDeletion })
	w.release(db)
	w.release(w.stack("landscape-shop-net", func(t *infrav1.Terraform) bool {
		return t.DeletionTimestamp != nil && !t.Spec.DestroyResourcesOnDeletion
	}))
	w.gone("Landscape", "shop")
}

const nestedYAML = `
metadata: {name: KINDs}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"bucketName":{"type":"string"}},"required":["bucketName"]}'}
  backend:
    type: Composition
    composition:
      prefix: KIND-
      resources:
      - id: inner
        template: {apiVersion: apps.cozystack.io/v1alpha1, kind: INNER, spec: {bucketName: "${spec.bucketName}"}}
      - id: note
        template: {apiVersion: v1, kind: ConfigMap, immutable: true, data: {endpoint: "${resources.inner.outputs.endpoint}"}}
`

func TestAnInstanceMakesAnotherOne(t *testing.T) {
	w := newWorld(t)
	d := w.define("Rack", strings.ReplaceAll(nestedYAML, "INNER", "Carton"))
	w.awaitDefinition(d, appv1.ReasonServed)
	w.make("Rack", "a", map[string]any{"bucketName": "photos"})
	// Nothing serves the inner kind yet.
	if _, message := w.await("Rack", "a", appv1.PhasePending); !strings.Contains(message, "does not serve the kind Carton") {
		t.Errorf("the message is %q", message)
	}
	carton := w.define("Carton", bucketYAML)
	w.stack("carton-rack-a-inner")
	w.apply("carton-rack-a-inner", map[string]string{"endpoint": "https://photos"}, "endpoint")
	m := w.configMap("rack-a-note", func(*corev1.ConfigMap) bool { return true })
	if m.Data["endpoint"] != "https://photos" {
		t.Errorf("the data are %v", m.Data)
	}
	w.await("Rack", "a", appv1.PhaseReady)
	// It is immutable, so that a change replaces it.
	w.apply("carton-rack-a-inner", map[string]string{"endpoint": "https://pictures"}, "endpoint")
	was := m.UID
	m = w.configMap("rack-a-note", func(now *corev1.ConfigMap) bool { return now.Data["endpoint"] == "https://pictures" })
	if m.UID == was || m.Immutable == nil || !*m.Immutable {
		t.Errorf("the immutable ConfigMap was not replaced: %+v", m)
	}
	w.await("Rack", "a", appv1.PhaseReady)
	// A definition that would close a cycle is refused.
	w.awaitDefinition(carton, appv1.ReasonServed)
	inner := w.define("Drawer", strings.ReplaceAll(nestedYAML, "INNER", "Rack"))
	w.awaitDefinition(inner, appv1.ReasonServed)
	w.until("the definition is changed", func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
			return false, err.Error()
		}
		d.Spec.Backend.Composition.Resources[0].Template.Raw = []byte(strings.ReplaceAll(string(d.Spec.Backend.Composition.Resources[0].Template.Raw), "Carton", "Drawer"))
		return w.Update(context.Background(), d) == nil, ""
	})
	if message := w.awaitDefinition(d, appv1.ReasonCycle); !strings.Contains(message, "Rack -> Drawer -> Rack") {
		t.Errorf("the message is %q", message)
	}
	// A pass that finds nothing new writes nothing, also after a restart.
	instance, _ := w.status("Rack", "a")
	stack := w.stack("carton-rack-a-inner")
	start(t)()
	t.Cleanup(start(t))
	w.make("Rack", "later", map[string]any{"bucketName": "later"})
	w.stack("carton-rack-later-inner")
	if now, _ := w.status("Rack", "a"); now.GetResourceVersion() != instance.GetResourceVersion() {
		t.Errorf("the instance was written: %v", now.Object)
	}
	if now := w.stack("carton-rack-a-inner"); now.ResourceVersion != stack.ResourceVersion {
		t.Errorf("the stack was written: %+v", now.ObjectMeta)
	}
	if now := w.configMap("rack-a-note", func(*corev1.ConfigMap) bool { return true }); now.ResourceVersion != m.ResourceVersion {
		t.Errorf("the ConfigMap was written: %+v", now.ObjectMeta)
	}
}

func TestSeveralObjectsTakeNothingFromOthers(t *testing.T) {
	w := newWorld(t)
	w.awaitDefinition(w.define("Manor", composedYAML), appv1.ReasonServed)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "manor-shop-notes"}, Data: map[string]string{"a": "b"}}
	if err := w.Create(context.Background(), foreign); err != nil {
		t.Fatal(err)
	}
	w.make("Manor", "shop", map[string]any{"cidr": "10.0.0.0/16"}, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{appv1.AnnotationApprovePlan: "auto"})
	})
	// The database's plans are approved by people, and the definition leaves no choice.
	if _, message := w.await("Manor", "shop", appv1.PhaseProgressing); message == "" {
		t.Error("no message")
	}
	w.stack("manor-shop-net")
	w.apply("manor-shop-net", map[string]string{"id": "vpc-1"}, "id")
	if _, message := w.await("Manor", "shop", appv1.PhaseFailed); !strings.Contains(message, "not one of the values that the definition allows") {
		t.Errorf("the message is %q", message)
	}
	if _, err := w.resource("Manor").Patch(context.Background(), "shop", types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.stack("manor-shop-db")
	w.apply("manor-shop-db", map[string]string{"port": "1"}, "port")
	if _, message := w.await("Manor", "shop", appv1.PhaseFailed); !strings.Contains(message, "somebody else: it existed before the instance") {
		t.Errorf("the message is %q", message)
	}
	// Somebody writes an object of others into the status.
	forged := []byte(`{"status":{"resources":[{"id":"x","apiVersion":"v1","kind":"ConfigMap","name":"manor-shop-notes","state":"Ready"}]}}`)
	if _, err := w.resource("Manor").Patch(context.Background(), "shop", types.MergePatchType, forged, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if err := w.resource("Manor").Delete(context.Background(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"manor-shop-db", "manor-shop-net"} {
		w.release(w.stack(name, func(t *infrav1.Terraform) bool { return t.DeletionTimestamp != nil }))
	}
	w.gone("Manor", "shop")
	if now := w.configMap("manor-shop-notes", func(*corev1.ConfigMap) bool { return true }); now.Data["a"] != "b" || len(now.OwnerReferences) > 0 {
		t.Errorf("the foreign ConfigMap was touched: %+v", now)
	}
}

const secretYAML = `
metadata: {name: KINDs}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"user":{"type":"string"}},"required":["user"]}'}
  backend:
    type: Composition
    composition:
      prefix: KIND-
      resources:
      - id: login
        template: {apiVersion: v1, kind: Secret, metadata: {name: "KIND-${metadata.name}-login"}, stringData: {user: "${spec.user}", old: leaked}}
`

func TestAKeyThatATemplateLosesGoes(t *testing.T) {
	w := newWorld(t)
	d := w.define("Locker", secretYAML)
	w.make("Locker", "shop", map[string]any{"user": "ann"})
	login := func(what string, done func(data map[string][]byte) bool) {
		w.until(what, func() (bool, string) {
			s := &corev1.Secret{}
			err := w.Get(context.Background(), client.ObjectKey{Namespace: w.namespace, Name: "locker-shop-login"}, s)
			return err == nil && string(s.Data["user"]) == "ann" && done(s.Data), fmt.Sprint(err, len(s.Data))
		})
	}
	login("the Secret has both keys", func(data map[string][]byte) bool { return string(data["old"]) == "leaked" })
	w.change(d, func(d *appv1.ApplicationDefinition) {
		r := &d.Spec.Backend.Composition.Resources[0]
		r.Template.Raw = []byte(strings.Replace(string(r.Template.Raw), `"old":"leaked",`, "", 1))
	})
	login("the Secret has lost one", func(data map[string][]byte) bool { return len(data) == 1 })
}

const pacedYAML = `
metadata: {name: KINDs}
spec:
  rollout: {maxUnavailable: 1}
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object","properties":{"cidr":{"type":"string"}},"required":["cidr"]}'}
  backend:
    type: Composition
    composition:
      prefix: KIND-
      resources:
      - id: net
        template:
          apiVersion: infra.contrib.fluxcd.io/v1alpha2
          kind: Terraform
          spec:
            vars: [{name: cidr, value: "${spec.cidr}"}]
            writeOutputsToSecret: {name: "KIND-${metadata.name}-net-outputs"}
            inline: {main.tf: 'variable "cidr" {}'}
`

func TestAChangeReachesSeveralObjectsInWaves(t *testing.T) {
	w := newWorld(t)
	d := w.define("Plot", pacedYAML)
	names := []string{"plot-a-net", "plot-b-net"}
	for i, name := range []string{"a", "b"} {
		w.make("Plot", name, map[string]any{"cidr": name})
		w.stack(names[i])
		w.apply(names[i], map[string]string{})
		w.await("Plot", name, appv1.PhaseReady)
	}
	w.until("the definition is changed", func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
			return false, err.Error()
		}
		r := &d.Spec.Backend.Composition.Resources[0]
		r.Template.Raw = []byte(strings.ReplaceAll(string(r.Template.Raw), `"main.tf":"`, `"more.tf":"locals {}","main.tf":"`))
		return w.Update(context.Background(), d) == nil, ""
	})
	changed := func() (list []string) {
		for _, name := range names {
			if w.stack(name).Spec.Inline["more.tf"] != "" {
				list = append(list, name)
			}
		}
		return list
	}
	w.until("one instance changes", func() (bool, string) { return len(changed()) > 0, "" })
	// A restart gives nobody else a turn.
	t.Cleanup(start(t))
	w.until("the rollout has both instances", func() (bool, string) {
		err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d)
		return err == nil && d.Status.Rollout != nil && d.Status.Rollout.Total == 2 && d.Status.Rollout.Updated == 1, d.ResourceVersion
	})
	first := changed()
	if len(first) != 1 {
		t.Fatalf("changed: %v", first)
	}
	w.apply(first[0], map[string]string{})
	w.until("the other one changes", func() (bool, string) { return len(changed()) == 2, "" })
	for _, name := range names {
		w.apply(name, map[string]string{})
	}
	w.until("the rollout completes", func() (bool, string) {
		err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d)
		return err == nil && d.Status.Rollout != nil && d.Status.Rollout.Phase == appv1.RolloutComplete, d.ResourceVersion
	})
}
