// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// withVersion is an API with one version of Gadgets.
func withVersion(version string) *targets.Cluster {
	gv := schema.GroupVersion{Group: "example.com", Version: version}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	mapper.Add(gv.WithKind("Gadget"), meta.RESTScopeNamespace)
	return &targets.Cluster{Cluster: engine.Cluster{Mapper: mapper}, Kinds: kinds.New(context.Background(), kinds.Options{Mapper: mapper})}
}

// An object is found although the recorded version is no longer served.
func TestVersionsOnRecordGrowOld(t *testing.T) {
	e := &tenantv1.AppliedResource{APIVersion: "example.com/v1", Kind: "Gadget"}
	gvk, err := servedAs(withVersion("v2"), e)
	if err != nil || gvk.Version != "v2" {
		t.Errorf("looked up as %s: %v", gvk, err)
	}
	e.Kind = "Widget"
	if _, err := servedAs(withVersion("v2"), e); !meta.IsNoMatchError(err) {
		t.Errorf("for an unknown kind: %v", err)
	}
}

// A defined kind that is not served now may still have objects, which must not be forgotten.
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
	c.Kinds.Client, c.Watch = c.Client, owned.NewWatch(t.Context(), owned.Options{})
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
	target.Name, target.Seal = "production", "h1"
	home := withVersion("v1")
	gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget"}}
	gadget.SetNamespace("shop")
	gadget.SetName("acme")
	for uid, want := range map[string]*targets.Cluster{"u1": target, "": home} {
		p := &pass{obj: acme(), home: home, target: target, entries: map[place]*tenantv1.AppliedResource{}}
		p.obj.Spec.KubeConfig = &fluxmeta.KubeConfigReference{SecretRef: &fluxmeta.SecretKeyReference{Name: "production"}}
		e := &tenantv1.AppliedResource{ID: "x", APIVersion: "example.com/v1", Kind: "Gadget", Namespace: "shop", Name: "acme", UID: uid, KubeConfig: "production"}
		p.entries[placeOf(e)] = e
		it := &item{id: "x", resource: &tenantv1.TResource{}, manifest: gadget.DeepCopy(), cluster: home}
		p.settle(it, time.Unix(1000, 0))
		if it.cluster != want || it.broken != "" {
			t.Errorf("with the uid %q it goes to %q, %s", uid, it.cluster.Name, it.broken)
		}
	}
}

func TestWhatIsRememberedOfAClusterIsForgottenWithIt(t *testing.T) {
	m := newMemory("u")
	here, there := place{id: owned.ID{Name: "a"}}, place{cluster: "production", id: owned.ID{Name: "b"}}
	m.objects["a"], m.objects["b"] = &left{at: here}, &left{at: there}
	m.copies[there] = duplicate{version: "1"}
	m.refused["b"] = &passes.Refusal{}
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

// A user with rights in one namespace only learns which right is missing.
func TestAMissingRightIsNamed(t *testing.T) {
	it := &item{cluster: &targets.Cluster{Name: "production"}, manifest: inNamespace("shop")}
	it.breakUnwatched(fmt.Errorf("the API has not listed them: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("User \"u\" cannot list resource"))))
	if !strings.Contains(it.broken, "cannot list resource") || !strings.Contains(it.broken, "to list and watch them in all namespaces") {
		t.Error(it.broken)
	}
}
