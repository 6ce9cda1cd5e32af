// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/kinds"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
)

var (
	secretKind    = schema.GroupKind{Kind: "Secret"}
	configMapKind = schema.GroupKind{Kind: "ConfigMap"}
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
)

// cluster is an API with objects of tenants.
type cluster struct {
	engine.Cluster
	kinds *kinds.Kinds
	// name tells a tenant's clusters apart: it is empty for the API that this server belongs to, and
	// for others what names their kubeconfig. Tenants give one cluster many names; its key is the same
	// for all.
	name string
	// seal is the label value of this server's objects in other clusters; empty for its own API.
	seal string
	now  func() time.Time

	mu sync.Mutex
	// silence is why the API is not asked for a while: it did not answer. deaf is the same for single
	// kinds.
	silence pause
	deaf    map[schema.GroupKind]pause
}

// pause is a time in which nothing is retried, and why.
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

// hush notes that the API did not answer.
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

// cannotWatch notes that the objects of a kind cannot be watched. That may take long to find out:
// not every tenant has to.
func (c *cluster) cannotWatch(kind schema.GroupKind, until time.Time, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf[kind] = pause{until, why}
}

// homeConcurrency is how many requests of one tenant are in flight at a time.
const homeConcurrency = 8

// newCluster opens an API. changed is called for every change of a tenant's object there.
func (r *tenantController) newCluster(ctx context.Context, name string, config *rest.Config, c client.Client, mapper meta.RESTMapper,
	owners func(owned.ID, metav1.Object) []owned.Owner, changed func(owned.Owner, owned.ID, *metav1.PartialObjectMetadata)) (*cluster, error) {
	// A watch is one answer without end.
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
	k := &cluster{Cluster: engine.Cluster{Client: c, Mapper: mapper}, name: name, now: r.Now, deaf: map[schema.GroupKind]pause{}}
	k.Explain = k.said
	k.kinds = kinds.New(ctx, kinds.Options{Mapper: mapper, Client: c, Metadata: objects, Explain: k.said, Changed: func(group string) { r.defined(k, group) }})
	k.Watch = owned.NewWatch(ctx, owned.Options{Metadata: objects, Objects: whole, Mapper: mapper, Selector: tenantv1.LabelUID,
		Owners: owners, Changed: changed, Look: k.look, WithOwnerReferences: true})
	return k, nil
}

// look returns what the watch keeps of the objects of a kind: their readiness.
func (c *cluster) look(kind schema.GroupKind) func(*unstructured.Unstructured) any {
	if ready.Plain(kind) {
		return nil
	}
	return func(u *unstructured.Unstructured) any { return c.kinds.Readiness(u) }
}

// follow watches the kinds of a tenant's objects.
func (c *cluster) follow(ctx context.Context, owner owned.Owner, list map[schema.GroupKind]string) error {
	c.kinds.Learn(ctx, list)
	if why := c.silent(c.now()); why != nil {
		unwatched := &owned.UnwatchedError{Kinds: map[schema.GroupKind]error{}}
		for kind := range list {
			unwatched.Kinds[kind] = why
		}
		return unwatched
	}
	return c.Watch.Follow(ctx, owner, list)
}

// awayPause is how soon a kind or a cluster that cannot be used is tried again. Definitions and
// Secrets with kubeconfigs are watched; nothing tells when a cluster answers again.
func awayPause(err error) time.Duration {
	var lost *targetError
	if err == nil || errors.As(err, &lost) && lost.gone {
		return unservedPause
	}
	return targetRetryPause
}

// secretVersion identifies the present content of a Secret; empty when there is none.
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

// A kind is served a moment after it is defined, and no watch tells when.
var definitionPauses = []time.Duration{0, time.Second, 5 * time.Second}

// defined is called when the definition of a custom kind is new or has changed.
func (r *tenantController) defined(c *cluster, group string) {
	for _, pause := range definitionPauses {
		time.AfterFunc(pause, func() {
			c.kinds.Forget(group)
			r.wake(r.lacking.in(group))
			r.kindsChanged()
		})
	}
}
