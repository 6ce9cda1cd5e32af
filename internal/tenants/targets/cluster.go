// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
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
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// Cluster is an API with objects of tenants.
type Cluster struct {
	engine.Cluster
	Kinds *kinds.Kinds
	// Name is a tenant's name for the cluster: empty for home, else the kubeconfig's. A cluster may
	// have many names; its Key is the same for all.
	Name string
	// Seal is the label value of this server's objects in other clusters; empty for home.
	Seal string
	// Now is the clock.
	Now func() time.Time

	mu sync.Mutex
	// silence is why the API is not asked for a while; deaf is the same for single kinds.
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

// Silent is why the API is not asked now; nil if it may be asked.
func (c *Cluster) Silent(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silence.at(now)
}

// Hush records that the API did not answer, so that it is not asked for a while.
func (c *Cluster) Hush(now time.Time, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silence = pause{now.Add(passes.RetryPause), why}
}

// Unwatched is why objects of a kind cannot be watched; nil unless a recent attempt failed.
func (c *Cluster) Unwatched(kind schema.GroupKind, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaf[kind].at(now)
}

// unwatchedPause is the pause before a kind that cannot be watched is tried again: the attempt may
// take long.
const unwatchedPause = 2 * time.Minute

// CannotWatch records that the objects of a kind cannot be watched.
func (c *Cluster) CannotWatch(kind schema.GroupKind, now time.Time, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf[kind] = pause{now.Add(unwatchedPause), why}
}

// newCluster opens an API.
func (c *Clusters) newCluster(ctx context.Context, name string, config *rest.Config, direct client.Client, mapper meta.RESTMapper) (*Cluster, error) {
	// A watch is one answer without end.
	config = rest.CopyConfig(config)
	config.Timeout = 0
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for metadata: %w", err)
	}
	whole, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for objects: %w", err)
	}
	k := &Cluster{Cluster: engine.Cluster{Client: direct, Mapper: mapper}, Name: name, Now: c.api.Now, deaf: map[schema.GroupKind]pause{}}
	k.Explain = k.Shown
	k.Kinds = kinds.New(ctx, kinds.Options{Mapper: mapper, Client: direct, Metadata: objects, Explain: k.Shown, Changed: func(group string) { c.defined(k, group) }})
	k.Watch = owned.NewWatch(ctx, owned.Options{Metadata: objects, Objects: whole, Mapper: mapper, Selector: tenantv1.LabelUID,
		Owners: func(id owned.ID, o metav1.Object) []owned.Owner { return c.hooks.Owners(name, id, o) },
		Changed: func(owner owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata) {
			c.hooks.Changed(name, owner, id, now)
		},
		Look: k.look, WithOwnerReferences: true})
	return k, nil
}

// look returns what the watch keeps of the objects of a kind: their readiness.
func (c *Cluster) look(kind schema.GroupKind) func(*unstructured.Unstructured) any {
	if ready.Plain(kind) {
		return nil
	}
	return func(u *unstructured.Unstructured) any { return c.Kinds.Readiness(u) }
}

// Follow watches the kinds of a tenant's objects.
func (c *Cluster) Follow(ctx context.Context, owner owned.Owner, list map[schema.GroupKind]string) error {
	c.Kinds.Learn(ctx, list)
	if why := c.Silent(c.Now()); why != nil {
		unwatched := &owned.UnwatchedError{Kinds: map[schema.GroupKind]error{}}
		for kind := range list {
			unwatched.Kinds[kind] = why
		}
		return unwatched
	}
	return c.Watch.Follow(ctx, owner, list)
}

// SecretVersion identifies the current content of a Secret; empty if it does not exist.
func SecretVersion(ctx context.Context, cached client.Reader, namespace, name string) (string, error) {
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

// A kind is served shortly after its definition, and no watch reports when.
var definitionPauses = []time.Duration{0, time.Second, 5 * time.Second}

// defined is called when the definition of a custom kind was created or changed.
func (c *Clusters) defined(k *Cluster, group string) {
	for _, pause := range definitionPauses {
		time.AfterFunc(pause, func() {
			k.Kinds.Forget(group)
			c.hooks.Defined(group)
		})
	}
}
