// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// made creates objects, and then their status.
func made(t *testing.T, objects ...client.Object) {
	t.Helper()
	c := apitest.Client(t)
	for _, o := range objects {
		status := o.DeepCopyObject().(client.Object)
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		status.SetResourceVersion(o.GetResourceVersion())
		status.SetUID(o.GetUID())
		if err := c.Status().Update(t.Context(), status); err != nil {
			t.Fatal(err)
		}
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func ready(reason string, status metav1.ConditionStatus, message string) []metav1.Condition {
	return []metav1.Condition{{Type: meta.ReadyCondition, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
}

// evil is a text that must never reach a page as it is.
const evil = "<script>alert(1)</script>\u202e"

// hostile are objects of every kind of the pages, with messages that want to be more than text.
func hostile(t *testing.T, namespace string) {
	t.Helper()
	hour := metav1.Duration{Duration: time.Hour}
	git := &sourcev1.GitRepository{ObjectMeta: named(namespace, "repo"), Spec: sourcev1.GitRepositorySpec{URL: "https://example.com/r.git", Interval: hour}}
	git.Status.Conditions = ready("Failed", metav1.ConditionFalse, evil)
	k := &kustomizev1.Kustomization{ObjectMeta: named(namespace, "infra"), Spec: kustomizev1.KustomizationSpec{Interval: hour, Prune: true,
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"}}}
	k.Status.Conditions, k.Status.LastAttemptedRevision = ready("PruneHeld", metav1.ConditionFalse, evil), "main@sha1:abc"
	chart := &sourcev1.HelmChart{ObjectMeta: named(namespace, "web"), Spec: sourcev1.HelmChartSpec{Chart: "web", Interval: hour, SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: "GitRepository", Name: "repo"}}}
	chart.Status.Conditions = ready("Failed", metav1.ConditionFalse, evil)
	release := &helmv2.HelmRelease{ObjectMeta: named(namespace, "web"), Spec: helmv2.HelmReleaseSpec{Interval: hour, ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "HelmChart", Name: "web"}}}
	release.Status.Conditions = ready("UpgradeFailed", metav1.ConditionFalse, evil)
	release.Status.History = helmv2.Snapshots{{Version: 7, Status: "failed", ChartName: evil, ChartVersion: "1.1.0", AppVersion: evil, FirstDeployed: metav1.Now(), LastDeployed: metav1.Now()}}
	registry := &tenantv1.TenantRegistry{ObjectMeta: named(namespace, "customers"), Spec: tenantv1.TenantRegistrySpec{
		Source:        tenantv1.DataSource{Type: tenantv1.SourceConfigMap, SyncInterval: "1h", ConfigMap: &tenantv1.ConfigMapSource{Name: "c", Key: "rows.yaml"}},
		ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"}}}
	registry.Status.Held = &tenantv1.HeldDeletion{ID: "5f2a", Count: 30, Tenants: []string{"acme-web"}, Message: evil}
	registry.Status.LastSync = &tenantv1.SyncStatus{Rows: 3, Active: 2, Rejected: []string{evil}, RejectedRows: 1}
	registry.Status.Conditions = ready("Read", metav1.ConditionTrue, evil)
	secret := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"plan": "{{ .plan }}"}}}
	resources := tenantv1.Resources{Manifests: []tenantv1.TResource{{ID: "secret", NameTemplate: "{{ .uid }}-secret", Spec: secret}}}
	template := &tenantv1.TenantTemplate{ObjectMeta: named(namespace, "web"), Spec: tenantv1.TenantTemplateSpec{RegistryID: "customers", Resources: resources}}
	tenant := &tenantv1.Tenant{ObjectMeta: named(namespace, "acme-web"), Spec: tenantv1.TenantSpec{UID: "acme", TemplateRef: "web"}}
	tenant.Labels = map[string]string{tenantv1.LabelRegistry: "customers", tenantv1.LabelUID: "acme"}
	tenant.Annotations = map[string]string{tenantv1.AnnotationActivate: "1", tenantv1.AnnotationExtra: `{"plan":"s3cr3t"}`}
	tenant.Status.Waiting = []tenantv1.WaitingResource{{ID: "secret", Reason: "Refused", Message: evil}}
	tenant.Status.Conditions = ready("No", metav1.ConditionFalse, evil)
	contract := &yubav1.Contract{ObjectMeta: named(namespace, "vpc"), Spec: yubav1.ContractSpec{Version: "1.0.0", Type: "string"}}
	contract.Status.Conditions = ready("Bad", metav1.ConditionFalse, evil)
	policy := &yubav1.Policy{ObjectMeta: named(namespace, "safe"), Spec: yubav1.PolicySpec{Rules: []yubav1.PolicyRule{{CEL: "true", Name: "always"}}}}
	policy.Status.Conditions = ready("Bad", metav1.ConditionFalse, evil)
	s := &infrav1.Terraform{ObjectMeta: named(namespace, "vpc"), Spec: infrav1.TerraformSpec{Interval: hour, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"}}}
	s.Status.Conditions, s.Status.LastAppliedRevision = ready("Bad", metav1.ConditionFalse, evil), "main@sha1:abc"
	made(t, git, k, chart, release, registry, template, tenant, contract, policy, s, hostilePlatform(namespace))
}

// addresses are all pages about objects, of a namespace.
func addresses(namespace string) []string {
	return []string{"/graph", "/graph?group=none&levels=all&focus=" + namespace + "/vpc", "/sources", "/sources/gitrepository/" + namespace + "/repo",
		"/sources/kustomization/" + namespace + "/infra", "/sources/helmchart/" + namespace + "/web", "/sources/helmrelease/" + namespace + "/web", "/tenants", "/tenants/" + namespace + "/acme-web", "/tenants/" + namespace + "/acme-web/render", "/operations",
		"/operations/outages", "/operations/tools", "/registry", "/registry/providers", "/contracts", "/contracts/" + namespace + "/vpc", "/versions", "/platforms", "/platforms/" + namespace + "/acme",
		"/versions?of=GitRepository+" + namespace + "/repo", "/policies", "/audit", "/tenants/templates/" + namespace + "/web/render",
		"/tenants/templates/" + namespace + "/web/render?col.id=%3Cscript%3Ealert(1)&col.active=1"}
}

func TestPagesOfOperators(t *testing.T) {
	w := newWorld(t)
	namespace := apitest.Namespace(t)
	hostile(t, namespace)
	b := w.login(admin())
	eventually(t, "the stack is in the graph", func() bool {
		_, body := b.get("/graph?group=none")
		return strings.Contains(body, namespace+"/vpc")
	})
	for _, address := range addresses(namespace) {
		code, body := b.get(address)
		if code != http.StatusOK {
			t.Errorf("%s: %d\n%s", address, code, body)
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") || strings.Contains(body, "s3cr3t") {
			t.Errorf("%s shows what it must not", address)
		}
	}
	for address, want := range map[string]string{"helmchart": "<a href=\"/sources/helmrelease/" + namespace + "/web\"", "helmrelease": ">7</td><td role=\"cell\">failed</td>"} {
		if _, body := b.get("/sources/" + address + "/" + namespace + "/web"); !strings.Contains(body, want) {
			t.Errorf("the page of a %s has no %s:\n%s", address, want, body)
		}
	}
	for _, address := range []string{"/sources/gitrepository/" + namespace + "/gone", "/sources/nothing/a/b", "/tenants/" + namespace + "/gone", "/tenants/templates/" + namespace + "/gone/render", "/contracts/" + namespace + "/gone", "/platforms/" + namespace + "/gone"} {
		if code, body := b.get(address); code != http.StatusNotFound || !strings.Contains(body, "There is no") {
			t.Errorf("%s: %d", address, code)
		}
	}
}

// a/b-c and a-b/c are two objects, and two rows: the script finds them by their ids.
func TestIDsOfRowsAreUnique(t *testing.T) {
	w := newWorld(t)
	short := apitest.Namespace(t)
	long, hour := short+"-b", metav1.Duration{Duration: time.Hour}
	if err := apitest.Client(t).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: long}}); err != nil {
		t.Fatal(err)
	}
	for namespace, name := range map[string]string{short: "b-c", long: "c"} {
		registry := &tenantv1.TenantRegistry{ObjectMeta: named(namespace, name), Spec: tenantv1.TenantRegistrySpec{
			Source:        tenantv1.DataSource{Type: tenantv1.SourceConfigMap, SyncInterval: "1h", ConfigMap: &tenantv1.ConfigMapSource{Name: "c", Key: "rows.yaml"}},
			ValueMappings: tenantv1.ValueMappings{UID: "id", Activate: "active"}}}
		made(t, registry, &tenantv1.Tenant{ObjectMeta: named(namespace, name), Spec: tenantv1.TenantSpec{UID: "acme", TemplateRef: "web"}},
			&sourcev1.GitRepository{ObjectMeta: named(namespace, name), Spec: sourcev1.GitRepositorySpec{URL: "https://example.com/r.git", Interval: hour}},
			&yubav1.Platform{ObjectMeta: named(namespace, name), Spec: hostilePlatform(namespace).Spec},
			&yubav1.Contract{ObjectMeta: named(namespace, name), Spec: yubav1.ContractSpec{Version: "1.0.0", Type: "string"}},
			&yubav1.Policy{ObjectMeta: named(namespace, name), Spec: yubav1.PolicySpec{Rules: []yubav1.PolicyRule{{CEL: "true", Name: "always"}}}},
			&infrav1.Terraform{ObjectMeta: named(namespace, name), Spec: infrav1.TerraformSpec{Interval: hour, Inline: map[string]string{"main.tf": ""}}})
	}
	b, id := w.login(admin()), regexp.MustCompile(`\sid="([^"]+)"`)
	for _, address := range []string{"/", "/stacks", "/sources", "/tenants", "/contracts", "/policies", "/platforms", "/graph?group=none"} {
		var body string
		eventually(t, address+" has both", func() bool {
			_, body = b.get(address)
			return strings.Contains(address, "/graph") || address == "/" || strings.Contains(body, short+"/b-c") && strings.Contains(body, long+"/c")
		})
		seen := map[string]bool{}
		for _, found := range id.FindAllStringSubmatch(body, -1) {
			if seen[found[1]] {
				t.Errorf("%s has two elements with the id %s", address, found[1])
			}
			seen[found[1]] = true
		}
	}
}

// Somebody with few rights sees pages with sentences in place of what they may not see, and nothing of others.
func TestPagesOfOperatorsWithFewRights(t *testing.T) {
	w := newWorld(t)
	namespace, other := apitest.Namespace(t), apitest.Namespace(t)
	hostile(t, namespace)
	b := w.login(viewer(t, "ops-viewer", other))
	for _, address := range []string{"/graph?group=none", "/sources", "/tenants", "/operations", "/operations/outages", "/operations/tools", "/registry", "/registry/providers", "/contracts", "/platforms",
		"/versions", "/policies", "/audit"} {
		code, body := b.get(address)
		if code != http.StatusOK {
			t.Errorf("%s: %d\n%s", address, code, body)
		}
		if strings.Contains(body, namespace) {
			t.Errorf("%s shows objects of another namespace", address)
		}
	}
	for _, address := range append(addresses(namespace)[3:5], "/tenants/templates/"+namespace+"/web/render") {
		if code, _ := b.get(address); code != http.StatusForbidden {
			t.Errorf("%s: %d", address, code)
		}
	}
	if code, said := b.post("/sources/gitrepository/" + namespace + "/repo/suspend"); code == http.StatusOK && !strings.Contains(said, "may not") {
		t.Errorf("suspend: %d %s", code, said)
	}
	var git sourcev1.GitRepository
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "repo"}, &git); err != nil || git.Spec.Suspend {
		t.Errorf("it is suspended: %v", err)
	}
}

func TestWhatOperatorsDo(t *testing.T) {
	w := newWorld(t)
	namespace := apitest.Namespace(t)
	hostile(t, namespace)
	c, b := apitest.Client(t), w.login(admin())
	circuit := &yubav1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: "c-" + namespace}}
	circuit.Status.State = yubav1.StateOpen
	made(t, circuit)
	get := func(o client.Object) {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	git := &sourcev1.GitRepository{ObjectMeta: named(namespace, "repo")}
	k := &kustomizev1.Kustomization{ObjectMeta: named(namespace, "infra")}
	registry := &tenantv1.TenantRegistry{ObjectMeta: named(namespace, "customers")}
	source, kustomization, tenants := "/sources/gitrepository/"+namespace+"/repo", "/sources/kustomization/"+namespace+"/infra", "/tenants/registries/"+namespace+"/customers"

	b.post(kustomization+"/sync", "source", "yes")
	get(git)
	get(k)
	if git.Annotations[meta.ReconcileRequestAnnotation] == "" || k.Annotations[meta.ReconcileRequestAnnotation] == "" {
		t.Error("sync with source asked for nothing")
	}
	b.post(kustomization+"/confirm", "revision", "main@sha1:other")
	if get(k); k.Annotations["yuba.dev/confirm-prune"] != "" {
		t.Error("the pruning of another revision is confirmed")
	}
	b.post(kustomization+"/confirm", "revision", "main@sha1:abc")
	if get(k); k.Annotations["yuba.dev/confirm-prune"] != "main@sha1:abc" {
		t.Errorf("the pruning is not confirmed: %v", k.Annotations)
	}
	release := &helmv2.HelmRelease{ObjectMeta: named(namespace, "web")}
	b.post("/sources/helmrelease/"+namespace+"/web/sync", "source", "yes")
	if get(release); release.Annotations[meta.ReconcileRequestAnnotation] == "" {
		t.Error("the sync of a HelmRelease asked for nothing")
	}
	b.post(source + "/suspend")
	if get(git); !git.Spec.Suspend {
		t.Error("it is not suspended")
	}
	before := git.Annotations[meta.ReconcileRequestAnnotation]
	b.post(source + "/sync")
	if get(git); git.Annotations[meta.ReconcileRequestAnnotation] != before {
		t.Error("a suspended source was asked to sync")
	}
	b.post(source + "/resume")
	if get(git); git.Spec.Suspend {
		t.Error("it is not resumed")
	}
	b.post(tenants+"/confirm", "id", "other")
	if get(registry); registry.Annotations[tenantv1.AnnotationConfirmDeletion] != "" {
		t.Error("a deletion that nobody saw is confirmed")
	}
	b.post(tenants+"/confirm", "id", "5f2a")
	b.post(tenants + "/sync")
	if get(registry); registry.Annotations[tenantv1.AnnotationConfirmDeletion] != "5f2a" || registry.Annotations[meta.ReconcileRequestAnnotation] == "" {
		t.Errorf("%v", registry.Annotations)
	}
	for _, step := range []struct {
		verb string
		want yubav1.CircuitBreakerMode
	}{{"resume", yubav1.ModeClosed}, {"suspend", yubav1.ModeOpen}, {"resume", yubav1.ModeAutomatic}} {
		get(circuit)
		b.post("/operations/circuits/"+circuit.Name+"/"+step.verb, "mode", string(circuit.Spec.Mode))
		if get(circuit); circuit.Spec.Mode != step.want {
			t.Errorf("%s: mode %s, want %s", step.verb, circuit.Spec.Mode, step.want)
		}
	}
}
