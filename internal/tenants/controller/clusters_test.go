// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// withVersion is an API with Gadgets of one version.
func withVersion(version string) *cluster {
	gv := schema.GroupVersion{Group: "example.com", Version: version}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	mapper.Add(gv.WithKind("Gadget"), meta.RESTScopeNamespace)
	return &cluster{Cluster: engine.Cluster{Mapper: mapper}, kinds: kinds.New(context.Background(), kinds.Options{Mapper: mapper})}
}

// What was made in a version that is served no longer is found in the one that is.
func TestVersionsOnRecordGrowOld(t *testing.T) {
	e := &tenantv1.AppliedResource{APIVersion: "example.com/v1", Kind: "Gadget"}
	gvk, err := withVersion("v2").servedAs(e)
	if err != nil || gvk.Version != "v2" {
		t.Errorf("it is looked for as %s: %v", gvk, err)
	}
	e.Kind = "Widget"
	if _, err := withVersion("v2").servedAs(e); !meta.IsNoMatchError(err) {
		t.Errorf("of a kind that nobody has it says %v", err)
	}
}

// That an API does not serve a kind now says nothing of its objects, as long as the kind is defined: they must not be forgotten.
func TestWhatIsNotServedForAMomentIsNotGone(t *testing.T) {
	var defined atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/gadgets.example.com") || !defined.Load() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"gadgets.example.com"}}`) //nolint:errcheck // the test would tell
	}))
	t.Cleanup(server.Close)
	c := withVersion("v1")
	mapper, _ := c.Mapper.(*meta.DefaultRESTMapper)
	mapper.Add(kinds.Definition, meta.RESTScopeRoot)
	var err error
	if c.Client, err = client.New(&rest.Config{Host: server.URL}, client.Options{Mapper: mapper}); err != nil {
		t.Fatal(err)
	}
	c.kinds.Client, c.Watch = c.Client, owned.NewWatch(t.Context(), owned.Options{})
	p := &pass{obj: acme(), home: c}
	e := &tenantv1.AppliedResource{ID: "x", APIVersion: "example.com/v1", Kind: "Gadget", Namespace: "shop", Name: "acme", UID: "u"}
	if live, err := p.find(t.Context(), c, e); live != nil || err != nil {
		t.Errorf("without its definition it is %v, %v", live, err)
	}
	defined.Store(true)
	if live, err := p.find(t.Context(), c, e); live != nil || err == nil {
		t.Errorf("with it, it is %v, %v", live, err)
	}
}

func TestWhatWasMadeElsewhereStaysThere(t *testing.T) {
	target := withVersion("v1")
	target.name, target.seal = "production", "h1"
	home := withVersion("v1")
	gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget"}}
	gadget.SetNamespace("shop")
	gadget.SetName("acme")
	for uid, want := range map[string]*cluster{"u1": target, "": home} {
		p := &pass{obj: acme(), home: home, target: target, entries: map[place]*tenantv1.AppliedResource{}}
		p.obj.Spec.KubeConfig = &fluxmeta.KubeConfigReference{SecretRef: &fluxmeta.SecretKeyReference{Name: "production"}}
		e := &tenantv1.AppliedResource{ID: "x", APIVersion: "example.com/v1", Kind: "Gadget", Namespace: "shop", Name: "acme", UID: uid, KubeConfig: "production"}
		p.entries[placeOf(e)] = e
		it := &item{id: "x", resource: &tenantv1.TResource{}, manifest: gadget.DeepCopy(), cluster: home}
		p.settle(it, time.Unix(1000, 0))
		if it.cluster != want || it.broken != "" {
			t.Errorf("with the uid %q it goes to %q, %s", uid, it.cluster.name, it.broken)
		}
	}
}

func TestWhatIsRememberedOfAClusterIsForgottenWithIt(t *testing.T) {
	m := newMemory("u")
	here, there := place{id: owned.ID{Name: "a"}}, place{cluster: "production", id: owned.ID{Name: "b"}}
	m.objects["a"], m.objects["b"] = &left{at: here}, &left{at: there}
	m.copies[there] = duplicate{version: "1"}
	m.refused["b"] = &refusal{}
	m.leave("production")
	if m.objects["a"] == nil || m.objects["b"] != nil || len(m.copies)+len(m.refused) > 0 {
		t.Errorf("it remembers %v", m)
	}
	s := newSights()
	owner := owned.Owner{Namespace: "shop", Name: "acme-web"}
	s.add(owner, here, sight{})
	s.add(owner, there, sight{})
	s.leave(owner, "production")
	if len(s.seen[owner]) != 1 {
		t.Errorf("it has seen %v", s.seen[owner])
	}
}

// dead is a server that takes connections and says nothing, and counts them.
func dead(t *testing.T) (address string, asked *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = &atomic.Int32{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			go io.Copy(io.Discard, c) //nolint:errcheck // until the other one has enough
		}
	}()
	return l.Addr().String(), asked
}

// To find out that nobody answers may take long. One of a tenant's many objects is enough to find it out, and the tenant says what
// can be done.
func TestADeadClusterIsNotAskedForEachObject(t *testing.T) {
	w := newWorld(t)
	address, asked := dead(t)
	w.must(w.c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "dead"}, Data: map[string][]byte{
		"value": fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
			"clusters: [{name: c, cluster: {server: 'https://%s', certificate-authority-data: %s}}]\nusers: [{name: u, user: {token: t}}]",
			address, base64.StdEncoding.EncodeToString(w.r.Config.CAData))}}))
	tenant := &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-web", Finalizers: []string{tenantv1.Finalizer}},
		Spec: tenantv1.TenantSpec{UID: "acme", TemplateRef: "web", KubeConfig: &fluxmeta.KubeConfigReference{SecretRef: &fluxmeta.SecretKeyReference{Name: "dead"}}}}
	w.must(w.c.Create(t.Context(), tenant))
	w.eventually("it is on record", func() bool { return w.tenant("acme-web").Status.ObservedGeneration == 1 })
	update := func(change func(*tenantv1.Tenant)) {
		now := w.tenant("acme-web")
		before := now.DeepCopy()
		change(now)
		w.must(w.c.Status().Patch(t.Context(), now, client.MergeFrom(before)))
	}
	update(func(now *tenantv1.Tenant) {
		for i := range 20 {
			now.Status.Inventory = append(now.Status.Inventory, tenantv1.AppliedResource{ID: fmt.Sprint("o", i), APIVersion: fmt.Sprintf("g%d.example.com/v1", i), Kind: "Gadget",
				Namespace: w.namespace, Name: "x", UID: "u", Cluster: tenantv1.ClusterTarget, KubeConfig: "dead"})
		}
	})
	w.eventually("the cache has heard of it", func() bool {
		cached := &tenantv1.Tenant{}
		return w.r.cached.Get(t.Context(), client.ObjectKeyFromObject(tenant), cached) == nil && len(cached.Status.Inventory) == 20
	})
	before := asked.Load()
	w.must(w.c.Delete(t.Context(), tenant))
	w.eventually("it says what can be done", func() bool {
		return strings.Contains(w.condition("acme-web", tenantv1.ConditionReady).Message, "kubectl patch tenant acme-web -n "+w.namespace)
	})
	if n := asked.Load() - before; n > 10 {
		t.Errorf("it was asked %d times", n)
	}
	if s := w.tenant("acme-web").Status; len(s.Inventory) != 20 || len(s.Waiting) != 20 {
		t.Errorf("%d are on record, %d wait", len(s.Inventory), len(s.Waiting))
	}
	w.must(w.c.Patch(t.Context(), &tenantv1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-web"}},
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	w.eventually("it is gone", func() bool { return w.names() == "" })
}

// A kind may be installed after the template that needs it. Nobody has to wait until it is looked for again.
func TestAKindThatComesLaterIsServedAtOnce(t *testing.T) {
	w := newWorld(t)
	group := w.namespace + ".example.com"
	w.rows("acme,a,1,pro")
	w.registry(nil)
	w.template("web", strings.ReplaceAll(`
manifests:
- id: gadget
  nameTemplate: "{{ .uid }}"
  spec: {apiVersion: GROUP/v1, kind: Gadget}
`, "GROUP", group))
	w.eventually("the template says that nobody serves it", func() bool {
		tpl, _ := get(w, &tenantv1.TenantTemplate{}, "web")
		return !validated(tpl) && known(tpl)
	})
	w.quiet()
	// Nothing else has it checked again.
	name := client.ObjectKey{Namespace: w.namespace, Name: "web"}
	w.r.templates.verdicts.mu.Lock()
	last := w.r.templates.verdicts.all[name]
	last.due = time.Now().Add(time.Hour)
	w.r.templates.verdicts.all[name] = last
	w.r.templates.verdicts.mu.Unlock()
	object := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object"}}}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + group}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &object}}}}}
	w.must(w.c.Create(t.Context(), definition))
	gadget := &unstructured.Unstructured{}
	gadget.SetAPIVersion(group + "/v1")
	gadget.SetKind("Gadget")
	w.eventually("it is made", func() bool {
		return w.c.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "acme"}, gadget) == nil
	})
	w.ready("acme-web")
}

// Who has rights in one namespace only is told which one is missing.
func TestAMissingRightIsNamed(t *testing.T) {
	it := &item{cluster: &cluster{name: "production"}, manifest: inNamespace("shop")}
	it.breakUnwatched(fmt.Errorf("the API has not listed them: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("User \"u\" cannot list resource"))))
	if !strings.Contains(it.broken, "cannot list resource") || !strings.Contains(it.broken, "to list and watch them in all namespaces") {
		t.Error(it.broken)
	}
}
