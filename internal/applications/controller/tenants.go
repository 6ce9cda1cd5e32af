// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/namespaces"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// tenants is what is known of the namespaces of all tenants.
type tenants struct {
	// pass is held by a pass over a tenant: what one of them is granted, another one cannot have.
	pass sync.Mutex
	// platforms are the values of roots. Only passes use them.
	platforms map[string]platform

	mu sync.Mutex
	at map[string]tenant
	// waiting are the tenants that were refused something, or are kept by what is in their namespaces.
	waiting map[Key]bool
}

// tenant is a namespace of a tenant.
type tenant struct {
	// key is its instance.
	key   Key
	grant *namespaces.Grant
	// version is that of the namespace that says so.
	version string
}

// platform is what the Secret of a root says.
type platform struct {
	version string
	// foreign: there is such a Secret, and Yuba did not write it.
	foreign bool
	cluster any
	above   *namespaces.Grant
	// bad says why it cannot be read; empty if it can.
	bad string
}

// occupied is when a pass over a tenant is tried again while another one runs.
const occupied = 5 * behind

// turn begins a pass over a tenant, unless one runs. Nobody waits for it: passes over other kinds need the
// workers.
func (t *tenants) turn() (end func(), ok bool) {
	if !t.pass.TryLock() {
		return nil, false
	}
	return t.pass.Unlock, true
}

// sync reads from the watch what is recorded at namespaces.
func (t *tenants) sync(watch *owned.Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := make(map[string]tenant, len(t.at))
	watch.Each(namespaces.NamespaceKind.GroupKind(), func(m *metav1.PartialObjectMetadata, _ any) {
		known, had := t.at[m.Name]
		if had && (known.version == m.ResourceVersion || owned.Older(m.ResourceVersion, known.version)) {
			now[m.Name] = known
			return
		}
		if key, ok := tenantOf(m); ok {
			now[m.Name] = tenant{key, namespaces.ReadGrant(m.Annotations[appv1.AnnotationTenant]), m.ResourceVersion}
		}
	})
	for name, known := range t.at {
		if _, ok := now[name]; ok {
			continue
		}
		// A pass may have written it a moment ago.
		if m, seen := watch.Get(namespaceID(name)); m == nil && owned.Older(seen, known.version) {
			now[name] = known
		}
	}
	t.at = now
}

// tenantOf is the instance whose namespace an object is, or is in.
func tenantOf(o metav1.Object) (Key, bool) {
	l := o.GetLabels()
	key := Key{l[appv1.LabelKind], l[appv1.LabelNamespace], l[appv1.LabelName]}
	return key, key.Kind != "" && key.Namespace != "" && key.Name != "" && l[appv1.LabelGroup] == appv1.InstanceVersion.Group
}

func namespaceID(name string) owned.ID {
	return owned.ID{GroupKind: namespaces.NamespaceKind.GroupKind(), Name: name}
}

// in is the tenant of a namespace.
func (t *tenants) in(namespace string) (tenant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.at[namespace]
	return one, ok
}

// of is the namespace of an instance; empty for none.
func (t *tenants) of(key Key) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for namespace, one := range t.at {
		if one.key == key {
			return namespace
		}
	}
	return ""
}

// put sets a tenant and returns what was there; without a grant, it removes it.
func (t *tenants) put(namespace string, one tenant) (before tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before = t.at[namespace]
	if one.grant == nil {
		delete(t.at, namespace)
		return before
	}
	if t.at == nil {
		t.at = map[string]tenant{}
	}
	t.at[namespace] = one
	return before
}

func (t *tenants) all() map[string]tenant {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.at)
}

// childrenOf are the tenants whose instances are in a namespace.
func (t *tenants) childrenOf(namespace string) (children []namespaces.Neighbour) {
	for at, one := range t.all() {
		if one.key.Namespace == namespace && at != namespace {
			children = append(children, namespaces.Neighbour{Name: one.key.Name, Grant: one.grant})
		}
	}
	return children
}

// wait notes whether an instance waits for room, or for its namespace to be empty.
func (t *tenants) wait(key Key, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !waits {
		delete(t.waiting, key)
		return
	}
	if t.waiting == nil {
		t.waiting = map[Key]bool{}
	}
	t.waiting[key] = true
}

// waitingIn are those who wait, of the instances in a namespace, and its own.
func (t *tenants) waitingIn(namespace string) (keys []Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.waiting {
		if key.Namespace == namespace || t.at[namespace].key == key {
			keys = append(keys, key)
		}
	}
	return keys
}

// wakeWaiting requests passes over the instances that wait for a namespace.
func (a *Applications) wakeWaiting(namespace string) {
	for _, key := range a.tenants.waitingIn(namespace) {
		a.instanceQueue.Add(key, 0)
	}
}

// wakeChildren requests passes over the tenants in a namespace, which inherit its values.
func (a *Applications) wakeChildren(kind, namespace string) {
	a.instances.Each(groupKind(kind), func(m *metav1.PartialObjectMetadata, _ any) {
		if m.Namespace == namespace {
			a.instanceQueue.Add(Key{kind, m.Namespace, m.Name}, 0)
		}
	})
}

// partChanged requests passes after a change of a tenant's namespace, or of something in it.
func (a *Applications) partChanged(id owned.ID, now *metav1.PartialObjectMetadata) {
	namespace := id.Namespace
	if id.GroupKind == namespaces.NamespaceKind.GroupKind() {
		namespace = id.Name
	}
	if now != nil {
		if key, ok := tenantOf(now); ok {
			a.instanceQueue.Add(key, 0)
		}
	} else if one, ok := a.tenants.in(namespace); ok {
		a.instanceQueue.Add(one.key, 0)
		if id.Namespace == "" {
			a.wakeWaiting(one.key.Namespace) // it counted there, also without its instance
		}
	}
	if id.GroupKind == namespaces.QuotaKind.GroupKind() {
		a.wakeWaiting(namespace) // the namespace may use less
	}
}

// platformChanged are the instances that depend on the Secret with the platform's values.
func (a *Applications) platformChanged(_ context.Context, secret client.Object) (keys []Key) {
	if secret.GetName() != appv1.PlatformValues {
		return nil
	}
	for name, k := range a.book.all() {
		if k.backend != appv1.BackendTenant || k.parsed == nil {
			continue
		}
		if _, root := k.parsed.Tenant.Begin(); root == secret.GetNamespace() {
			a.instances.Each(groupKind(name), func(m *metav1.PartialObjectMetadata, _ any) { keys = append(keys, Key{name, m.Namespace, m.Name}) })
		}
	}
	return keys
}

// ofPlatform is what the Secret in a root says. It reads the Secret when its version is new.
func (a *Applications) ofPlatform(ctx context.Context, root string) (platform, error) {
	at := client.ObjectKey{Namespace: root, Name: appv1.PlatformValues}
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(namespaces.SecretKind)
	if err := a.Client.Get(ctx, at, meta); err != nil {
		return platform{}, client.IgnoreNotFound(err)
	}
	if _, own := tenantOf(meta); own {
		return platform{}, nil
	}
	if known, ok := a.tenants.platforms[root]; ok && known.version == meta.ResourceVersion {
		return known, nil
	}
	secret := &corev1.Secret{}
	if err := a.Reader.Get(ctx, at, secret); err != nil {
		return platform{}, client.IgnoreNotFound(err)
	}
	p := platform{version: secret.ResourceVersion, foreign: true}
	var err error
	if p.cluster, p.above, err = namespaces.Platform(secret.Data["values.yaml"]); err != nil {
		p.bad = strings.TrimSpace(err.Error()) + ", in the namespace " + root + ". Ask the platform team"
	}
	if a.tenants.platforms == nil {
		a.tenants.platforms = map[string]platform{}
	}
	a.tenants.platforms[root] = p
	return p, nil
}
