// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/owned"
	"github.com/yuba-dev/yuba/internal/tenant/ready"
)

// The kinds of which it is enough to know that they are there.
var plainKinds = map[schema.GroupKind]bool{
	secretKind: true, configMapKind: true, {Kind: "ServiceAccount"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
}

var (
	secretKind    = schema.GroupKind{Kind: "Secret"}
	configMapKind = schema.GroupKind{Kind: "ConfigMap"}
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
)

// cluster is an API that tenants have objects at.
type cluster struct {
	// name tells a tenant's clusters apart: it is empty for the API that this server belongs to, and for others what names their
	// kubeconfig. key tells the clusters of all tenants apart.
	name, key string
	client    client.Client
	mapper    meta.RESTMapper
	watch     *owned.Watch
	// concurrency is how many requests of one tenant are on their way at a time.
	concurrency int

	mu sync.Mutex
	// unserved are kinds that the API did not have when it was asked last.
	unserved map[schema.GroupKind]time.Time
	// statusless are kinds whose objects never have a status; known are those of which that was found out.
	statusless, known map[schema.GroupKind]bool
	// silence is why nobody asks the API for a while: it has not answered. deaf says the same of kinds.
	silence pause
	deaf    map[schema.GroupKind]pause
}

// pause is a time in which something is not tried again, and why.
type pause struct {
	until time.Time
	why   error
}

func (p pause) at(now time.Time) error {
	if now.Before(p.until) {
		return p.why
	}
	return nil
}

// silent is why the API is not asked now; nil when it may be.
func (c *cluster) silent(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silence.at(now)
}

// hush says that the API has not answered.
func (c *cluster) hush(until time.Time, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silence = pause{until, why}
}

// unwatched is why the objects of a kind cannot be watched; nil when they can, as far as is known.
func (c *cluster) unwatched(kind schema.GroupKind, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaf[kind].at(now)
}

// cannotWatch says that the objects of a kind could not be watched. To find that out may take long: not every tenant has to.
func (c *cluster) cannotWatch(kind schema.GroupKind, until time.Time, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf[kind] = pause{until, why}
}

const (
	homeConcurrency   = 8
	targetConcurrency = 4
	// unservedFor is how long an answer counts that there is no such kind: asking costs requests.
	unservedFor = 30 * time.Second
)

// newCluster makes the way to an API. changed hears of every change of a tenant's object there.
func newCluster(ctx context.Context, name string, config *rest.Config, c client.Client, mapper meta.RESTMapper,
	owners func(owned.ID, metav1.Object) []owned.Owner, changed func(owned.Owner, owned.ID, *metav1.PartialObjectMetadata)) (*cluster, error) {
	// A watch is one answer without an end.
	config = rest.CopyConfig(config)
	config.Timeout = 0
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for metadata: %w", err)
	}
	whole, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for objects: %w", err)
	}
	k := &cluster{name: name, client: c, mapper: mapper, concurrency: homeConcurrency, unserved: map[schema.GroupKind]time.Time{},
		statusless: map[schema.GroupKind]bool{}, known: map[schema.GroupKind]bool{}, deaf: map[schema.GroupKind]pause{}}
	if name != "" {
		k.concurrency = targetConcurrency
	}
	k.watch = owned.NewWatch(ctx, owned.Options{Metadata: objects, Objects: whole, Mapper: mapper, Selector: tenantv1.LabelUID,
		Owners: owners, Changed: changed, Look: k.look, WithOwnerReferences: true})
	return k, nil
}

// look says what is kept of the objects of a kind: whether they are ready.
func (c *cluster) look(kind schema.GroupKind) func(*unstructured.Unstructured) any {
	if plainKinds[kind] {
		return nil
	}
	return func(u *unstructured.Unstructured) any { return c.readiness(u) }
}

// readiness says how an object is.
func (c *cluster) readiness(u *unstructured.Unstructured) ready.Readiness {
	kind := u.GroupVersionKind().GroupKind()
	c.mu.Lock()
	statusless := c.statusless[kind]
	c.mu.Unlock()
	return ready.OfKind(u, statusless)
}

// serves tells whether the API has a kind, and whether its objects have no namespaces.
func (c *cluster) serves(gvk schema.GroupVersionKind, now time.Time) (served, root bool, err error) {
	c.mu.Lock()
	asked, none := c.unserved[gvk.GroupKind()]
	c.mu.Unlock()
	if none && now.Sub(asked) < unservedFor {
		return false, false, nil
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	c.mu.Lock()
	defer c.mu.Unlock()
	if meta.IsNoMatchError(err) {
		c.unserved[gvk.GroupKind()] = now
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("ask the API for the kind %s: %w", gvk.Kind, err)
	}
	delete(c.unserved, gvk.GroupKind())
	return true, mapping.Scope.Name() == meta.RESTScopeNameRoot, nil
}

// learn finds out whether objects of kinds have a status, before anything is waited for.
func (c *cluster) learn(ctx context.Context, kinds map[schema.GroupKind]string) {
	for kind, version := range kinds {
		c.mu.Lock()
		known := c.known[kind]
		c.mu.Unlock()
		if known || plainKinds[kind] || kind.Group == "" {
			continue
		}
		mapping, err := c.mapper.RESTMapping(kind, version)
		if err != nil {
			continue
		}
		definition := &unstructured.Unstructured{}
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		err = c.client.Get(ctx, client.ObjectKey{Name: mapping.Resource.Resource + "." + kind.Group}, definition)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
			continue // it is asked again
		}
		// Who may not look, or finds none, takes the kind for one with a status.
		none := err == nil && !definesStatus(definition, version)
		c.mu.Lock()
		c.known[kind], c.statusless[kind] = true, none
		c.mu.Unlock()
	}
}

// definesStatus tells whether a definition's objects have a status.
func definesStatus(definition *unstructured.Unstructured, version string) bool {
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return true
	}
	for _, v := range versions {
		v, ok := v.(map[string]any)
		if !ok || v["name"] != version {
			continue
		}
		if _, has, _ := unstructured.NestedMap(v, "subresources", "status"); has { //nolint:errcheck // what is malformed has none
			return true
		}
		if _, has, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema", "properties", "status"); has { //nolint:errcheck // what is malformed has none
			return true
		}
		open, _, _ := unstructured.NestedBool(v, "schema", "openAPIV3Schema", "x-kubernetes-preserve-unknown-fields") //nolint:errcheck // what is malformed is closed
		return open
	}
	return true
}

// follow makes sure that the kinds of a tenant's objects are watched.
func (c *cluster) follow(ctx context.Context, owner owned.Owner, kinds map[schema.GroupKind]string) error {
	c.learn(ctx, kinds)
	return c.watch.Follow(ctx, owner, kinds)
}

// secretVersion stands for the Secret as it is now; empty when there is none.
func secretVersion(ctx context.Context, cached client.Reader, namespace, name string) (string, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := cached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("look for Secret %s/%s: %w", namespace, name, err)
	}
	if m.UID == "" {
		return "", nil
	}
	return string(m.UID) + "/" + m.ResourceVersion, nil
}
