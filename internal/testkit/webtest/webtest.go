// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package webtest serves pages of the web page from objects in memory, for tests of what pages show
// and of how long they take. Nothing can be changed: tests of actions use package apitest.
package webtest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// Watched are objects in memory, as the cache of a server has them.
type Watched struct {
	cache.Informers
	Stacks         []infrav1.Terraform
	Kustomizations []kustomizev1.Kustomization
	Registries     []tenantv1.TenantRegistry
	Circuits       []yubav1.CircuitBreaker
	Namespaces     []corev1.Namespace
	// Broken is the error of lists of everything but stacks and namespaces; nil for none.
	Broken error
	// Unwatched is a resource that the server may not watch: a list would wait for ever.
	Unwatched string
}

// Get implements client.Reader. Pages list.
func (w *Watched) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return fmt.Errorf("webtest has only lists")
}

// List implements client.Reader.
func (w *Watched) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list.(type) {
	case *infrav1.TerraformList, *corev1.NamespaceList:
	default:
		if w.Broken != nil {
			return w.Broken
		}
	}
	switch list := list.(type) {
	case *infrav1.TerraformList:
		// As the cache does, copy each object shallowly.
		list.Items = append([]infrav1.Terraform(nil), w.Stacks...)
	case *kustomizev1.KustomizationList:
		if w.Unwatched == "kustomizations" {
			return fmt.Errorf("webtest: this watch never begins")
		}
		list.Items = w.Kustomizations
	case *tenantv1.TenantRegistryList:
		list.Items = w.Registries
	case *yubav1.CircuitBreakerList:
		list.Items = w.Circuits
	case *corev1.NamespaceList:
		list.Items = w.Namespaces
	default:
		return fmt.Errorf("webtest has no %T", list)
	}
	return nil
}

// GetInformer implements cache.Informers.
func (w *Watched) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return &informer{w: w}, nil
}

// informer tells of each object once, when somebody asks.
type informer struct {
	cache.Informer
	w *Watched
}

func (i *informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	for n := range i.w.Stacks {
		h.OnAdd(&i.w.Stacks[n], true)
	}
	return nil, nil
}

// asks answers questions about rights.
type asks struct {
	client.Client
	scheme *runtime.Scheme
	mapper meta.RESTMapper
	may    func(access.Right) bool
	// unwatched is what the server may not watch.
	unwatched string
}

func (a *asks) Scheme() *runtime.Scheme     { return a.scheme }
func (a *asks) RESTMapper() meta.RESTMapper { return a.mapper }
func (a *asks) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if own, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
		own.Status.Allowed = own.Spec.ResourceAttributes.Resource != a.unwatched
		return nil
	}
	review, ok := o.(*authorizationv1.SubjectAccessReview)
	if !ok {
		return fmt.Errorf("webtest does not create a %s", reflect.TypeOf(o))
	}
	of := review.Spec.ResourceAttributes
	review.Status.Allowed = a.may(access.Right{Verb: of.Verb, Group: of.Group, Resource: of.Resource, Subresource: of.Subresource, Namespace: of.Namespace, Name: of.Name})
	return nil
}

// Site returns a site for objects in memory, whose person may do what may allows, at a time.
func Site(t testing.TB, w *Watched, may func(access.Right) bool, now time.Time) *site.Site {
	t.Helper()
	clock := func() time.Time { return now }
	own := newAsks(w, may)
	// Nothing listens there: what is not in memory is away.
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	return site.New(site.Options{Access: access.New(config, own, w, clock), Hub: live.New(w), Now: clock, Log: slog.New(slog.DiscardHandler), Edition: "test",
		Who: func(*http.Request) (access.Person, bool, error) { return access.Person{Name: "ada"}, true, nil }})
}

// Objects are the objects in memory as pages list them.
func Objects(w *Watched, now time.Time) *watched.Objects {
	return watched.New(w, newAsks(w, func(access.Right) bool { return true }), func() time.Time { return now })
}

func newAsks(w *Watched, may func(access.Right) bool) *asks {
	return &asks{scheme: schemeOf(), mapper: mapperOf(), may: may, unwatched: w.Unwatched}
}

// Get asks a site for a page, and returns its status and body.
func Get(t testing.TB, s http.Handler, address string, cookies ...*http.Cookie) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	r.Header.Set("Accept", "text/html")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func schemeOf() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, infrav1.AddToScheme, tenantv1.AddToScheme, yubav1.AddToScheme, kustomizev1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // the types are fixed
		}
	}
	return scheme
}

func mapperOf() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{infrav1.Kind} {
		mapper.Add(infrav1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(kustomizev1.GroupVersion.WithKind("Kustomization"), meta.RESTScopeNamespace)
	mapper.Add(tenantv1.GroupVersion.WithKind("TenantRegistry"), meta.RESTScopeNamespace)
	mapper.Add(yubav1.GroupVersion.WithKind(yubav1.CircuitBreakerKind), meta.RESTScopeRoot)
	return mapper
}
