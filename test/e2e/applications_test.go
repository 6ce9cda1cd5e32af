// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"

	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

const bucketDefinition = `
apiVersion: cozystack.io/v1alpha1
kind: ApplicationDefinition
metadata: {name: bucket}
spec:
  application: {kind: Bucket, plural: buckets, singular: bucket, openAPISchema: '{"type":"object","properties":{"bucketName":{"type":"string"},"size":{"type":"integer","default":3}},"required":["bucketName"]}'}
  backend:
    type: Terraform
    terraform:
      prefix: bucket-
      inline:
        main.tf: |
          variable "bucket_name" { type = string }
          variable "size" { type = number }
          resource "terraform_data" "bucket" { input = "${var.bucket_name}-${var.size}" }
          output "endpoint" { value = "https://${terraform_data.bucket.output}" }
          output "size" { value = var.size }
          output "internal" { value = "not for users" }
          output "password" {
            value     = "s3cr3t-${var.bucket_name}"
            sensitive = true
          }
      outputs: [endpoint, size, password]
`

// buckets are the instances of a namespace, for a user.
type buckets struct {
	dynamic.ResourceInterface
	content   *content.Client
	namespace string
}

func (b *buckets) status(t *testing.T, name string) (s appv1.InstanceStatus, text string) {
	t.Helper()
	o, err := b.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return s, err.Error()
	}
	content, err := json.Marshal(o.Object["status"])
	if err == nil {
		err = json.Unmarshal(content, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, string(content)
}

// await waits for the phase of a bucket.
func (b *buckets) await(t *testing.T, name, phase string) (s appv1.InstanceStatus) {
	t.Helper()
	text := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s, text = b.status(t, name); s.Phase == phase {
			return s
		}
	}
	t.Fatalf("bucket %s is not %s: %s", name, phase, text)
	return s
}

// bucketUser may do everything with buckets of a namespace and nothing else.
func bucketUser(t *testing.T, y *yuba, namespace string) *buckets {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "buckets"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps.cozystack.io"}, Resources: []string{"buckets"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete"}},
		{APIGroups: []string{"content.yuba.dev"}, Resources: []string{"buckets/plan"}, Verbs: []string{"get"}},
		{APIGroups: []string{"content.yuba.dev"}, Resources: []string{"buckets/approve"}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "buckets"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "buckets"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "ann"}}}
	y.create(t, role, binding)
	config, _ := y.as(t, "ann")
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := content.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return &buckets{objects.Resource(appv1.InstanceVersion.WithResource("buckets")).Namespace(namespace), c, namespace}
}

func bucketNamed(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"bucketName": name}}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind("Bucket"))
	o.SetName(name)
	return o
}

func TestAUserOfAKindNeedsNoRightToStacks(t *testing.T) {
	t.Parallel()
	y, namespace := common(t)
	d := &appv1.ApplicationDefinition{}
	if err := yaml.UnmarshalStrict([]byte(bucketDefinition), d); err != nil {
		t.Fatal(err)
	}
	y.create(t, d)
	ann := bucketUser(t, y, namespace)
	made := errors.New("never tried")
	for deadline := time.Now().Add(patience); made != nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		_, made = ann.Create(t.Context(), bucketNamed("photos"), metav1.CreateOptions{})
	}
	if made != nil {
		t.Fatal(made)
	}
	s := ann.await(t, "photos", appv1.PhaseAwaitingApproval)
	if s.Plan == nil || s.Plan.Add != 1 || s.Plan.ID == "" || len(s.Outputs) > 0 {
		t.Errorf("the status is %+v", s)
	}
	at := content.Instance{Resource: "buckets", Namespace: namespace, Name: "photos"}
	if plan, err := ann.content.InstancePlan(t.Context(), at); err != nil || !strings.Contains(string(plan), "terraform_data.bucket") {
		t.Errorf("the plan is %s (%v)", plan, err)
	}
	if err := ann.content.ApproveInstance(t.Context(), at, "plan-of-yesterday", ""); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), s.Plan.ID) {
		t.Errorf("a stale id: %v", err)
	}
	if err := ann.content.ApproveInstance(t.Context(), at, "", ""); !apierrors.IsBadRequest(err) {
		t.Errorf("no id: %v", err)
	}
	if _, err := ann.content.Plan(t.Context(), namespace, "bucket-photos", ""); !apierrors.IsForbidden(err) {
		t.Errorf("the stack's plan: %v", err)
	}
	if err := ann.content.ApproveInstance(t.Context(), at, s.Plan.ID, "as agreed"); err != nil {
		t.Fatal(err)
	}
	s = ann.await(t, "photos", appv1.PhaseReady)
	if string(s.Outputs["endpoint"].Raw) != `"https://photos-3"` || string(s.Outputs["size"].Raw) != "3" || len(s.Outputs) != 2 || s.OutputsSecretRef == nil {
		t.Errorf("the outputs are %s", s.Outputs)
	}
	if data := y.secret(t, namespace, s.OutputsSecretRef.Name); string(data["password"]) != "s3cr3t-photos" || data["internal"] != nil {
		t.Errorf("the Secret has %d keys, or another password", len(data))
	}
	if _, text := ann.status(t, "photos"); strings.Contains(text, "s3cr3t") || strings.Contains(text, "not for users") {
		t.Errorf("the status shows %s", text)
	}
	var stack infrav1.Terraform
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "bucket-photos"}, &stack); err != nil {
		t.Fatal(err)
	}
	if said := stack.Annotations[infrav1.AnnotationDecision]; !strings.Contains(said, `"ann"`) || !strings.Contains(said, "as agreed") {
		t.Errorf("the approval does not say whose it is: %s", said)
	}
	out, _, _ := y.run(t, "app", "list", "-n", namespace)
	if !strings.Contains(out, "Bucket   photos   True    Ready") {
		t.Errorf("yuba app list says %s", out)
	}
	if err := ann.Delete(t.Context(), "photos", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, err := ann.Get(t.Context(), "photos", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if time.Now().After(deadline) {
			_, text := ann.status(t, "photos")
			t.Fatalf("the bucket does not go: %s", text)
		}
	}
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(&stack), &stack); !apierrors.IsNotFound(err) {
		t.Errorf("the stack is still there: %v", err)
	}
}
