// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// worldOfRoles are objects that make the controllers use their permissions. PLACE is the namespace.
const worldOfRoles = `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: network, namespace: PLACE}
spec:
  interval: 1h
  approvePlan: auto
  storeReadablePlan: human
  writeOutputsToSecret: {name: network-outputs}
  inline: {main.tf: 'output "id" { value = "vpc-1" }'}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: app, namespace: PLACE}
spec:
  interval: 1h
  approvePlan: auto
  dependsOn: [{name: network}]
  varsFrom: [{kind: Secret, name: network-outputs}]
  inline: {main.tf: 'variable "id" {}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: rows, namespace: PLACE}
data: {rows.yaml: '[{id: acme, is_active: "1"}]'}
---
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantRegistry
metadata: {name: rows, namespace: PLACE}
spec:
  source: {type: configMap, syncInterval: 30s, configMap: {name: rows, key: rows.yaml}}
  valueMappings: {uid: id, activate: is_active}
---
apiVersion: operator.kubernetes-tenants.org/v1
kind: TenantTemplate
metadata: {name: tenant, namespace: PLACE}
spec:
  registryId: rows
  manifests:
  - id: stack
    nameTemplate: "{{ .uid }}"
    spec:
      apiVersion: infra.contrib.fluxcd.io/v1alpha2
      kind: Terraform
      spec:
        interval: 1h
        approvePlan: auto
        inline: {main.tf: 'output "id" { value = "acme" }'}
`

// kindOfRoles is an application kind, and instanceOfRoles an instance of it.
const (
	kindOfRoles = `
apiVersion: cozystack.io/v1alpha1
kind: ApplicationDefinition
metadata: {name: chest}
spec:
  application: {kind: Chest, plural: chests, singular: chest, openAPISchema: '{"type":"object"}'}
  backend:
    type: Terraform
    terraform:
      prefix: chest-
      inline: {main.tf: 'output "id" { value = "chest" }'}
      approvePlan: auto
      outputs: [id]
      identity: {allowed: [writer]}
`
	instanceOfRoles = `
apiVersion: apps.cozystack.io/v1alpha1
kind: Chest
metadata: {name: photos, namespace: PLACE}
`
)

// tenantsOfRoles defines tenants, whose tree begins in the test's namespace, and makes one with a tenant of its own.
const tenantsOfRoles = `
apiVersion: cozystack.io/v1alpha1
kind: ApplicationDefinition
metadata: {name: PLACE}
spec:
  application: {kind: Tenant, plural: tenants, singular: tenant, openAPISchema: '{"type":"object","properties":{"resourceQuotas":{"type":"object","additionalProperties":{"type":"integer"}}}}'}
  backend: {type: Tenant, tenant: {prefix: of-PLACE-, root: PLACE}}
---
apiVersion: apps.cozystack.io/v1alpha1
kind: Tenant
metadata: {name: acme, namespace: PLACE}
spec: {resourceQuotas: {count/terraforms.infra.contrib.fluxcd.io: 5}}
---
apiVersion: apps.cozystack.io/v1alpha1
kind: Tenant
metadata: {name: dev, namespace: of-PLACE-acme}
spec: {resourceQuotas: {count/terraforms.infra.contrib.fluxcd.io: 2}}
`

// refusals are requests that the API refused.
type refusals struct {
	mu   sync.Mutex
	list []string
}

// RoundTripper notes refused requests.
func (r *refusals) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && response.StatusCode == http.StatusForbidden {
			r.mu.Lock()
			defer r.mu.Unlock()
			if one := request.Method + " " + request.URL.Path; !slices.Contains(r.list, one) {
				r.list = append(r.list, one)
			}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// expectedRefusals are those that the controllers handle: the question whether the API is that of an
// embedded home, and who may read the address of content, which a Service makes needless.
func expectedRefusal(request string) bool {
	return strings.HasPrefix(request, "GET /apis/content.yuba.dev/") || strings.Contains(request, "/namespaces/yuba-system/role") ||
		strings.HasSuffix(request, "/clusterroles/"+registryReader) || strings.HasSuffix(request, "/clusterroles/"+mirrorReader) // the chart has their bindings
}

func TestTheRolesOfTheChartAreEnough(t *testing.T) {
	for set, gitops := range map[string]bool{"default": false, "without-flux": true} {
		t.Run(set, func(t *testing.T) {
			namespace, c := apitest.Namespace(t), apitest.Client(t)
			account := serviceAccount(t, namespace)
			grantRoles(t, "../../test/chart/testdata/"+set+"/manifests.yaml", namespace)
			refused := &refusals{}
			t.Run("controllers", func(t *testing.T) {
				running(t, func(o *ControllerOptions) {
					o.Config, o.GitOps = account, gitops
					o.Config.Wrap(refused.RoundTripper)
				})
				for _, document := range strings.Split(strings.ReplaceAll(worldOfRoles, "PLACE", namespace), "\n---\n") {
					apply(t, c, document)
				}
				for _, name := range []string{"network", "app", "acme"} {
					eventually(t, func() error { return appliedOf(t.Context(), c, namespace, name) })
				}
				useKind(t, c, namespace)
				useTenants(t, c, namespace)
				var packed bytes.Buffer
				if _, err := archive.PackInline(map[string]string{"main.tf": ""}, &packed); err != nil {
					t.Fatal(err)
				}
				if _, err := contentOf(t, apitest.API(t).RESTConfig()).Push(t.Context(), namespace, "pushed", bytes.NewReader(packed.Bytes())); err != nil {
					t.Error(err)
				}
				rows := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rows"}, Data: map[string]string{"rows.yaml": "[]"}}
				if err := c.Update(t.Context(), rows); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"app", "network"} {
					if err := c.Delete(t.Context(), &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
						t.Fatal(err)
					}
				}
				for _, name := range []string{"acme", "app", "network"} {
					eventually(t, func() error { return goneOf(t.Context(), c, namespace, name) })
				}
			})
			refused.mu.Lock()
			defer refused.mu.Unlock()
			for _, request := range refused.list {
				if !expectedRefusal(request) {
					t.Errorf("refused: %s", request)
				}
			}
		})
	}
}

// useKind defines an application kind, makes an instance, and removes both.
func useKind(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	apply(t, c, kindOfRoles)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(instanceOfRoles, "PLACE", namespace)), &o.Object); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return client.IgnoreAlreadyExists(c.Create(t.Context(), o.DeepCopy())) })
	eventually(t, func() error { return appliedOf(t.Context(), c, namespace, "chest-photos") })
	eventually(t, func() error {
		now := o.DeepCopy()
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), now)
		if phase, _, _ := unstructured.NestedString(now.Object, "status", "phase"); err == nil && phase != appv1.PhaseReady {
			err = fmt.Errorf("the instance is %q", phase)
		}
		return err
	})
	definition := &appv1.ApplicationDefinition{ObjectMeta: metav1.ObjectMeta{Name: "chest"}}
	for _, gone := range []client.Object{o, definition} {
		if err := c.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(gone), gone)
			if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("%s is still there: finalizers %v, status %+v", gone.GetName(), gone.GetFinalizers(), definition.Status)
		})
	}
}

// useTenants makes tenants, and removes them: the inner one, the outer one, the kind.
func useTenants(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	documents := strings.Split(strings.ReplaceAll(tenantsOfRoles, "PLACE", namespace), "\n---\n")
	apply(t, c, documents[0])
	objects := []client.Object{&appv1.ApplicationDefinition{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	for _, document := range documents[1:] {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		// The kind and the parent's namespace appear a moment later.
		eventually(t, func() error { return client.IgnoreAlreadyExists(c.Create(t.Context(), o.DeepCopy())) })
		eventually(t, func() error {
			now := o.DeepCopy()
			err := c.Get(t.Context(), client.ObjectKeyFromObject(o), now)
			if phase, _, _ := unstructured.NestedString(now.Object, "status", "phase"); err == nil && phase != appv1.PhaseReady {
				err = fmt.Errorf("the tenant is %v", now.Object["status"])
			}
			return err
		})
		objects = append(objects, o)
	}
	for _, gone := range slices.Backward(objects) {
		if err := c.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(gone), gone)
			if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("%s is still there: finalizers %v", gone.GetName(), gone.GetFinalizers())
		})
	}
}

// grantRoles gives the account of a test the permissions of the controllers in the chart's manifests.
func grantRoles(t *testing.T, manifests, namespace string) {
	t.Helper()
	text, err := os.ReadFile(manifests)
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, document := range strings.Split(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		// Those of the hooks and of people are not the controllers'.
		if name := role.Name; role.Kind == "ClusterRole" && name == "yuba" || role.Kind == "Role" && (name == "yuba-system" || name == "yuba-keys") {
			rules = append(rules, role.Rules...)
		}
	}
	c := apitest.Client(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Subjects: subject(namespace),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace}}
	for _, o := range []client.Object{role, binding} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	account := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: namespace}, Subjects: subject(namespace),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"}}
	if err := c.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, c client.Client, document string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// appliedOf says what is missing until a stack is ready.
func appliedOf(ctx context.Context, c client.Client, namespace, name string) error {
	var stack infrav1.Terraform
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &stack); err != nil {
		return err
	}
	for _, condition := range stack.Status.Conditions {
		if condition.Type == infrav1.ConditionReady && condition.Status == metav1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("stack %s: %+v", name, stack.Status.Conditions)
}

// goneOf says that a stack is still there.
func goneOf(ctx context.Context, c client.Client, namespace, name string) error {
	var stack infrav1.Terraform
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &stack)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(fmt.Errorf("stack %s is still there", name), err)
}
