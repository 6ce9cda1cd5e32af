// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// exampleObjects reads a file of examples/tenants.
func exampleObjects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tofutest.RepositoryRoot(t), "examples", "tenants", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, document := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, o)
	}
	return out
}

// declare applies the example, with the cloud of the test instead of AWS and all other services.
func (x *trial) declare(t *testing.T) {
	t.Helper()
	create := func(o *unstructured.Unstructured) {
		o.SetNamespace(x.Namespace)
		if err := x.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range exampleObjects(t, "credentials.yaml") {
		x.letIn(t, o)
		create(o)
	}
	if err := x.Client.Create(t.Context(), secretOf(x.Namespace, "cluster", map[string]string{"value": string(x.target.kubeconfig)})); err != nil {
		t.Fatal(err)
	}
	for _, o := range exampleObjects(t, "registry.yaml") {
		if o.GetKind() == "ConfigMap" {
			o.Object["data"] = map[string]any{"rows.yaml": "[]"}
		}
		create(o)
	}
	for _, o := range exampleObjects(t, x.file) {
		switch o.GetKind() {
		case tenantv1.TenantTemplateKind:
			x.direct(t, o)
		case "GitRepository":
			x.publish(t, o)
		}
		create(o)
	}
	x.AwaitTemplate(t, x.template, tenantv1.ConditionValid, metav1.ConditionTrue, tenantv1.ReasonValidationPassed)
}

// letIn replaces the credentials in a Secret of the examples: the cloud's token is every password.
func (x *trial) letIn(t *testing.T, secret *unstructured.Unstructured) {
	t.Helper()
	values, _, err := unstructured.NestedStringMap(secret.Object, "stringData")
	if err != nil {
		t.Fatal(err)
	}
	for key := range values {
		if strings.HasSuffix(key, "password") || key == "AWS_SECRET_ACCESS_KEY" {
			values[key] = x.cloud.Token()
		}
	}
	if secret.GetName() == "aws-credentials" {
		values["AWS_ENDPOINT_URL"] = x.cloud.URL()
	}
	if err := unstructured.SetNestedStringMap(secret.Object, values, "stringData"); err != nil {
		t.Fatal(err)
	}
}

// direct sets the variables for addresses of services to that of the cloud.
func (x *trial) direct(t *testing.T, template *unstructured.Unstructured) {
	t.Helper()
	if x.vars == nil {
		return
	}
	host, port := x.address(t)
	left := x.vars(host, port)
	manifests, _, err := unstructured.NestedSlice(template.Object, "spec", "manifests")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		vars, _, err := unstructured.NestedSlice(asMap(m), "spec", "spec", "vars")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vars {
			name, _ := asMap(v)["name"].(string) //nolint:errcheck // no name is none of ours
			if value, ours := left[name]; ours {
				asMap(v)["value"] = value
				delete(left, name)
			}
		}
		if err := unstructured.SetNestedSlice(asMap(m), vars, "spec", "spec", "vars"); err != nil {
			t.Fatal(err)
		}
	}
	if len(left) > 0 {
		t.Fatalf("%s has no variables %v", x.file, left)
	}
	if err := unstructured.SetNestedSlice(template.Object, manifests, "spec", "manifests"); err != nil {
		t.Fatal(err)
	}
}

// publish creates a repository with the example's modules.
func (x *trial) publish(t *testing.T, source *unstructured.Unstructured) {
	t.Helper()
	central := gittest.New(t).Repository(t, "terraform-modules")
	dir := filepath.Join(tofutest.RepositoryRoot(t), "examples", "tenants", "modules", "tenant-stack")
	files := gittest.Files{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files["modules/tenant-stack/"+entry.Name()] = string(content)
	}
	central.Commit(t, "what each tenant gets", files)
	if err := unstructured.SetNestedField(source.Object, central.URL(), "spec", "url"); err != nil {
		t.Fatal(err)
	}
}

// setRows sets the content of the table.
func (x *trial) setRows(t *testing.T, rows string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"data":{"rows.yaml":%q}}`, rows)
	if err := x.Client.Patch(t.Context(), configMap(x.Namespace, "tenants", nil), client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

// appears adds the tenant's row, and checks its objects.
func (x *trial) appears(t *testing.T) {
	t.Helper()
	x.setRows(t, fmt.Sprintf(`[{id: %s, url: "https://acme.example.com/shop", is_active: "1", plan: enterprise}]`, x.uid))
	x.AwaitReady(t, x.tenant)
	x.hasAll(t)
}

// hasAll checks the objects of a ready tenant.
func (x *trial) hasAll(t *testing.T) {
	t.Helper()
	for name, patterns := range x.outputs {
		var secret corev1.Secret
		x.Get(t, name, &secret)
		if got := secret.Labels[tenantv1.LabelUID]; got != x.uid {
			t.Errorf("the Secret %s is of tenant %q", name, got)
		}
		for key, pattern := range patterns {
			if got := string(secret.Data[key]); !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got) {
				t.Errorf("%s of %s is %q, want %s", key, name, got, pattern)
			}
		}
	}
	if diff := cmp.Diff(x.tenantExample.cloud, x.kinds()); diff != "" {
		t.Errorf("what the cloud has (-want +got):\n%s", diff)
	}
	for _, name := range slices.Concat(x.stacks, x.kept) {
		var stack infrav1.Terraform
		x.Get(t, name, &stack)
		if kept := slices.Contains(x.kept, name); !ready(&stack) || stack.Spec.ApprovePlan != infrav1.ApprovePlanAuto || stack.Spec.DestroyResourcesOnDeletion == kept {
			t.Errorf("the stack %s: ready %t, approvePlan %q, destroyResourcesOnDeletion %t", name, ready(&stack), stack.Spec.ApprovePlan,
				stack.Spec.DestroyResourcesOnDeletion)
		}
	}
	for _, name := range x.settings {
		var settings corev1.ConfigMap
		x.Get(t, name, &settings)
		if settings.Data["tenant_id"] != x.uid || settings.Labels[tenantv1.LabelUID] != x.uid {
			t.Errorf("the ConfigMap %s has %v and %v", name, settings.Data, settings.Labels)
		}
	}
	for _, name := range x.deployments {
		o := newDeployment()
		if err := x.target.client.Get(t.Context(), client.ObjectKey{Namespace: x.Namespace, Name: name}, o); err != nil {
			t.Fatal(err)
		}
		if missing := x.target.missing(t.Context(), o); len(missing) > 0 {
			t.Errorf("the Deployment %s has not %v", name, missing)
		}
	}
	for _, fault := range x.target.blamed(x.Namespace) {
		t.Error(fault)
	}
}

// kinds counts the objects in the cloud by type.
func (x *trial) kinds() map[string]int {
	out := map[string]int{}
	for _, name := range x.cloud.Names("") {
		kind, _, _ := strings.Cut(name, ":")
		out[kind]++
	}
	return out
}

// goes removes the row and waits until only the tenant's retained stacks are left.
func (x *trial) goes(t *testing.T) {
	t.Helper()
	x.setRows(t, "[]")
	x.AwaitGone(t, x.tenant, &tenantv1.Tenant{})
	for _, name := range x.stacks {
		if !x.Missing(t, name, &infrav1.Terraform{}) {
			t.Errorf("the tenant is gone, and its stack %s is not", name)
		}
	}
	for _, name := range x.settings {
		if !x.Missing(t, name, &corev1.ConfigMap{}) {
			t.Errorf("the tenant is gone, and its ConfigMap %s is not", name)
		}
	}
	for _, name := range x.deployments {
		err := x.target.client.Get(t.Context(), client.ObjectKey{Namespace: x.Namespace, Name: name}, newDeployment())
		if client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("the Deployment %s is left: %v", name, err)
		}
	}
	for _, name := range x.kept {
		stack := &infrav1.Terraform{}
		x.Get(t, name, stack)
		if stack.DeletionTimestamp != nil || stack.Labels[tenantv1.LabelOrphaned] != tenantv1.ValueTrue {
			t.Errorf("the stack %s was to be kept: %+v", name, stack.ObjectMeta)
		}
		if len(x.cloud.Names("")) == 0 {
			t.Errorf("the stack %s was kept, and what it made was not", name)
		}
	}
	x.noSecrets(t, "in the target cluster", x.target.client)
}

// comesBack adds the row again. The tenant adopts its retained stacks, with their passwords.
func (x *trial) comesBack(t *testing.T) {
	t.Helper()
	before := x.passwords(t)
	if len(before) == 0 {
		t.Error("the stack was kept, and its outputs were not")
	}
	x.appears(t)
	for _, name := range x.kept {
		stack := &infrav1.Terraform{}
		x.Get(t, name, stack)
		if _, orphaned := stack.Labels[tenantv1.LabelOrphaned]; orphaned {
			t.Errorf("the tenant is back, and its stack %s still counts as left behind", name)
		}
	}
	after := x.passwords(t)
	for place, password := range before {
		if after[place] != password {
			t.Errorf("%s is another password than before", place)
		}
	}
}

// passwords are the passwords in the existing outputs.
func (x *trial) passwords(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, patterns := range x.outputs {
		var secret corev1.Secret
		if x.Missing(t, name, &secret) {
			continue
		}
		for key := range patterns {
			if strings.HasSuffix(key, "password") {
				out[key+" of "+name] = string(secret.Data[key])
			}
		}
	}
	return out
}

// ends deletes the retained objects, and checks that nothing is left.
func (x *trial) ends(t *testing.T) {
	t.Helper()
	for _, name := range x.kept {
		stack := &infrav1.Terraform{}
		x.Get(t, name, stack)
		destroying := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"destroyResourcesOnDeletion":true}}`))
		if err := x.Client.Patch(t.Context(), stack, destroying); err != nil {
			t.Fatal(err)
		}
		if err := x.Client.Delete(t.Context(), stack); err != nil {
			t.Fatal(err)
		}
		x.AwaitGone(t, name, stack)
	}
	if left := x.cloud.Names(""); len(left) > 0 {
		t.Errorf("the cloud still has %v", left)
	}
	x.noSecrets(t, "at home", x.Client)
}

// noSecrets waits until an API has no Secrets of the tenant: neither outputs nor states of
// destroyed stacks.
func (x *trial) noSecrets(t *testing.T, where string, of client.Client) {
	t.Helper()
	x.Eventually(t, "the tenant has no Secrets "+where, func() string {
		var secrets corev1.SecretList
		if err := of.List(t.Context(), &secrets, client.InNamespace(x.Namespace), client.MatchingLabels{tenantv1.LabelUID: x.uid}); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, s := range secrets.Items {
			names = append(names, s.Name)
		}
		if len(names) > 0 {
			return fmt.Sprintf("there are %v", names)
		}
		return ""
	})
}

// leaveNothingThatRuns deletes the template and the registries, so that nothing tries to reach the
// stopped cluster.
func (x *trial) leaveNothingThatRuns(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, o := range []client.Object{
		&tenantv1.TenantTemplate{ObjectMeta: metav1.ObjectMeta{Name: x.template}},
		&tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Name: "my-registry"}},
		&tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Name: "enterprise-registry"}},
	} {
		o.SetNamespace(x.Namespace)
		if err := x.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}
