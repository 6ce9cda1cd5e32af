// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestAnInstanceBecomesAStackAndHasItsOutputs(t *testing.T) {
	w := newWorld(t)
	w.define("Bucket", bucketYAML)
	o := w.make("Bucket", "photos", map[string]any{"bucketName": "photos"})
	stack := w.stack("bucket-photos")
	if len(stack.OwnerReferences) != 1 || stack.OwnerReferences[0].UID != o.GetUID() || stack.Labels[appv1.LabelName] != "photos" {
		t.Errorf("the stack is not the instance's: %+v", stack.ObjectMeta)
	}
	var vars []string
	for _, v := range stack.Spec.Vars {
		vars = append(vars, v.Name+"="+string(v.Value.Raw))
	}
	if want := []string{`bucket_name="photos"`, "size=3"}; !slices.Equal(vars, want) {
		t.Errorf("the variables are %v", vars)
	}
	if stack.Spec.ApprovePlan != "" || stack.Spec.ServiceAccountName != "reader" || !stack.Spec.DestroyResourcesOnDeletion {
		t.Errorf("the stack has the spec %+v", stack.Spec)
	}
	w.await("Bucket", "photos", appv1.PhaseProgressing)
	w.play("bucket-photos", func(t *infrav1.Terraform) {
		t.Status.Plan = infrav1.PlanStatus{Pending: "plan-1", Summary: "+1 ~2 -0"}
		ready(t, metav1.ConditionUnknown, "Plan generated")
	})
	s, message := w.await("Bucket", "photos", appv1.PhaseAwaitingApproval)
	if s.Plan == nil || *s.Plan != (appv1.InstancePlan{ID: "plan-1", Summary: "1 to add, 2 to change", Add: 1, Change: 2}) || !strings.Contains(message, "yuba app approve bucket photos") {
		t.Errorf("the plan is %+v, the message %q", s.Plan, message)
	}
	w.apply("bucket-photos", map[string]string{"endpoint": "https://photos", "password": "s3cr3t"}, "endpoint")
	s, _ = w.await("Bucket", "photos", appv1.PhaseReady)
	if len(s.Outputs) != 1 || string(s.Outputs["endpoint"].Raw) != `"https://photos"` || s.OutputsSecretRef == nil || s.OutputsSecretRef.Name != "bucket-photos-outputs" {
		t.Errorf("the outputs are %s in %+v", s.Outputs, s.OutputsSecretRef)
	}
	// Somebody who may write statuses tells other users another endpoint.
	forged := []byte(`{"status":{"outputs":{"endpoint":"https://elsewhere"}}}`)
	if _, err := w.resource("Bucket").Patch(context.Background(), "photos", types.MergePatchType, forged, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	w.until("the outputs are corrected", func() (bool, string) {
		_, s := w.status("Bucket", "photos")
		return string(s.Outputs["endpoint"].Raw) == `"https://photos"`, string(s.Outputs["endpoint"].Raw)
	})
	w.play("bucket-photos", func(t *infrav1.Terraform) { ready(t, metav1.ConditionFalse, "no credentials") })
	if _, message := w.await("Bucket", "photos", appv1.PhaseFailed); message != "no credentials" {
		t.Errorf("the message is %q", message)
	}
}

func TestTheAPIRefusesBadSpecs(t *testing.T) {
	w := newWorld(t)
	d := w.define("Tub", bucketYAML)
	w.awaitDefinition(d, appv1.ReasonServed)
	w.make("Tub", "first", map[string]any{"bucketName": "a"})
	for sentence, test := range map[string]struct {
		name string
		spec map[string]any
		want string
	}{
		"a missing field":                  {"a", map[string]any{}, "bucketName"},
		"a wrong type":                     {"a", map[string]any{"bucketName": int64(5)}, "bucketName"},
		"an unknown field":                 {"a", map[string]any{"bucketName": "a", "other": "b"}, "unknown field"},
		"an internal key":                  {"a", map[string]any{"bucketName": "a", "_namespace": "b"}, "unknown field"},
		"a name that gets too long":        {strings.Repeat("a", 50), map[string]any{"bucketName": "a"}, "Too long"},
		"no spec at all although required": {"a", nil, "spec"},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			if test.spec != nil {
				o.Object["spec"] = test.spec
			}
			o.SetGroupVersionKind(appv1.InstanceVersion.WithKind("Tub"))
			o.SetName(test.name)
			_, err := w.resource("Tub").Create(context.Background(), o, metav1.CreateOptions{FieldValidation: "Strict"})
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the API answers %v", err)
			}
		})
	}
}

func TestAChangeThatStrandsInstancesIsRefused(t *testing.T) {
	w := newWorld(t)
	d := w.define("Pail", bucketYAML)
	w.make("Pail", "photos", map[string]any{"bucketName": "photos"})
	w.stack("pail-photos")
	w.awaitDefinition(d, appv1.ReasonServed)
	schema := d.Spec.Application.OpenAPISchema
	change := func(f func(*appv1.ApplicationDefinition)) {
		t.Helper()
		w.until("the definition is changed", func() (bool, string) {
			if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
				return false, err.Error()
			}
			f(d)
			err := w.Update(context.Background(), d)
			return err == nil, ""
		})
	}
	change(func(d *appv1.ApplicationDefinition) {
		d.Spec.Application.OpenAPISchema = strings.Replace(schema, `{"type":"string"}`, `{"type":"string","maxLength":3}`, 1)
	})
	if message := w.awaitDefinition(d, appv1.ReasonStrands); !strings.Contains(message, w.namespace+"/photos") {
		t.Errorf("the message names no instance: %s", message)
	}
	// The instance goes on by the definition that was accepted.
	w.make("Pail", "longer", map[string]any{"bucketName": "long-name"})
	w.stack("pail-longer")
	change(func(d *appv1.ApplicationDefinition) {
		d.Spec.Application.OpenAPISchema, d.Spec.Backend.Terraform.Prefix = schema, "other-"
	})
	if message := w.awaitDefinition(d, appv1.ReasonStrands); !strings.Contains(message, `prefix "pail-"`) {
		t.Errorf("the message does not name the prefix: %s", message)
	}
	change(func(d *appv1.ApplicationDefinition) {
		d.Spec.Backend.Terraform.Prefix = "pail-"
		d.Spec.Backend.Terraform.Inline["more.tf"] = `locals { a = 1 }`
	})
	w.awaitDefinition(d, appv1.ReasonServed)
	w.stack("pail-photos", func(t *infrav1.Terraform) bool { return t.Spec.Inline["more.tf"] != "" })
	change(func(d *appv1.ApplicationDefinition) { delete(d.Spec.Backend.Terraform.Inline, "more.tf") })
	w.stack("pail-photos", func(t *infrav1.Terraform) bool { return t.Spec.Inline["more.tf"] == "" })
	err := w.Patch(context.Background(), d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"application":{"kind":"Other"}}}`)))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "cannot change") {
		t.Errorf("another kind: the API answers %v", err)
	}
}

func TestADefinitionWithInstancesIsKept(t *testing.T) {
	w := newWorld(t)
	d := w.define("Jug", bucketYAML)
	o := w.make("Jug", "photos", map[string]any{"bucketName": "photos"})
	w.stack("jug-photos")
	if err := w.Delete(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	if message := w.awaitDefinition(d, appv1.ReasonInUse); !strings.Contains(message, w.namespace+"/photos") {
		t.Errorf("the message names no instance: %s", message)
	}
	if err := w.resource("Jug").Delete(context.Background(), "photos", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	stack := w.stack("jug-photos", func(t *infrav1.Terraform) bool { return t.DeletionTimestamp != nil })
	w.play("jug-photos", func(t *infrav1.Terraform) { ready(t, metav1.ConditionFalse, "bucket is not empty") })
	w.until("the deletion says what blocks it", func() (bool, string) {
		_, s := w.status("Jug", "photos")
		return strings.Contains(s.Conditions[0].Message, "bucket is not empty"), s.Conditions[0].Message
	})
	// Somebody forces it.
	patch := `{"metadata":{"annotations":{"` + appv1.AnnotationAbandon + `":"` + string(o.GetUID()) + `"}}}`
	if _, err := w.resource("Jug").Patch(context.Background(), "photos", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.stack("jug-photos", func(t *infrav1.Terraform) bool { return !t.Spec.DestroyResourcesOnDeletion })
	w.release(stack)
	w.gone("Jug", "photos")
	w.until("the definition goes", func() (bool, string) {
		err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d)
		return apierrors.IsNotFound(err), d.ResourceVersion
	})
	w.until("the kind goes", func() (bool, string) {
		_, err := w.resource("Jug").List(context.Background(), metav1.ListOptions{})
		return apierrors.IsNotFound(err), ""
	})
}

// release plays that a deleted stack is destroyed.
func (w *world) release(stack *infrav1.Terraform) {
	w.Helper()
	w.until("the stack is released", func() (bool, string) {
		err := w.Patch(context.Background(), stack, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		return client.IgnoreNotFound(err) == nil, ""
	})
}

func (w *world) gone(kind, name string) {
	w.Helper()
	w.until(kind+" "+name+" is gone", func() (bool, string) {
		_, err := w.resource(kind).Get(context.Background(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ""
	})
}

func TestNothingNewWritesNothing(t *testing.T) {
	w := newWorld(t)
	d := w.define("Vat", bucketYAML)
	w.make("Vat", "photos", map[string]any{"bucketName": "photos"})
	w.stack("vat-photos")
	w.apply("vat-photos", map[string]string{"endpoint": "a"}, "endpoint")
	w.await("Vat", "photos", appv1.PhaseReady)
	w.until("the definition counts its instance", func() (bool, string) {
		return w.Get(context.Background(), client.ObjectKeyFromObject(d), d) == nil && d.Status.Instances == 1, ""
	})
	instance, _ := w.status("Vat", "photos")
	stack := w.stack("vat-photos")
	// Nothing that is rendered changes.
	d.Spec.Dashboard = &appv1.Dashboard{Category: "IaaS"}
	if err := w.Update(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	w.awaitDefinition(d, appv1.ReasonServed)
	// A later instance is a sign that the passes before it are over.
	w.make("Vat", "later", map[string]any{"bucketName": "later"})
	w.stack("vat-later")
	start(t)() // a restart, which ends before it may have done anything
	t.Cleanup(start(t))
	w.make("Vat", "last", map[string]any{"bucketName": "last"})
	w.stack("vat-last")
	if now, _ := w.status("Vat", "photos"); now.GetResourceVersion() != instance.GetResourceVersion() {
		t.Errorf("the instance was written: %v", now.GetManagedFields())
	}
	if now := w.stack("vat-photos"); now.ResourceVersion != stack.ResourceVersion {
		t.Errorf("the stack was written: %+v", now.ObjectMeta)
	}
}

func TestWhatAnInstanceMayNotHave(t *testing.T) {
	w := newWorld(t)
	w.define("Urn", bucketYAML)
	w.make("Urn", "admin", map[string]any{"bucketName": "a"}, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{appv1.AnnotationIdentity: "cluster-admin"})
	})
	if _, message := w.await("Urn", "admin", appv1.PhaseFailed); !strings.Contains(message, "not one of the service accounts that the definition allows: writer") {
		t.Errorf("the message is %q", message)
	}
	foreign := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "urn-taken"}, Spec: infrav1.TerraformSpec{Inline: map[string]string{"main.tf": ""}}}
	if err := w.Create(context.Background(), foreign); err != nil {
		t.Fatal(err)
	}
	w.make("Urn", "taken", map[string]any{"bucketName": "a"})
	if _, message := w.await("Urn", "taken", appv1.PhaseFailed); !strings.Contains(message, "somebody else") {
		t.Errorf("the message is %q", message)
	}
	if err := w.resource("Urn").Delete(context.Background(), "taken", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.gone("Urn", "taken")
	if now := w.stack("urn-taken"); now.DeletionTimestamp != nil || len(now.OwnerReferences) > 0 {
		t.Errorf("the foreign stack was touched: %+v", now.ObjectMeta)
	}
}

func TestOneOfTwoDefinitionsRules(t *testing.T) {
	w := newWorld(t)
	first := w.define("Keg", bucketYAML)
	w.awaitDefinition(first, appv1.ReasonServed)
	second := w.define("Keg", strings.Replace(bucketYAML, "name: KINDs", "name: another-KIND", 1))
	if message := w.awaitDefinition(second, appv1.ReasonConflict); !strings.Contains(message, "definition kegs has the kind") {
		t.Errorf("the message is %q", message)
	}
	if err := w.Delete(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	w.awaitDefinition(second, appv1.ReasonServed)
	w.make("Keg", "photos", map[string]any{"bucketName": "photos"})
	w.stack("keg-photos")
}

// TestTheFirstInstanceNeedNotWait looks at the time by which API servers decide whether to delay the
// creation of a kind's first objects.
func TestTheFirstInstanceNeedNotWait(t *testing.T) {
	w := newWorld(t)
	d := w.define("Jar", bucketYAML)
	w.awaitDefinition(d, appv1.ReasonServed)
	u, err := w.objects.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(context.Background(), "jars."+appv1.InstanceVersion.Group, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &crd); err != nil {
		t.Fatal(err)
	}
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.LastTransitionTime.Add(2*time.Second).Before(crd.CreationTimestamp.Time) {
			return
		}
	}
	t.Errorf("the kind of %s is %+v", crd.CreationTimestamp, crd.Status.Conditions)
}
