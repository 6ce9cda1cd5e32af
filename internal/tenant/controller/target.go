// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/owned"
	"github.com/yuba-dev/yuba/internal/remote"
	"github.com/yuba-dev/yuba/internal/tenant/ready"
)

// clusters are the ways to the APIs that objects are at.
type clusters struct {
	tenants *Tenants
	scheme  *runtime.Scheme
	home    *cluster
	// away holds a token for each pass that asks a target: those that answer slowly must not keep all others waiting.
	away chan struct{}

	mu      sync.Mutex
	targets map[string]*target
}

// maxAway is how many passes ask targets at a time.
const maxAway = tenantWorkers / 2

// target is a cluster that tenants name, with those who use it. It ends when nobody does.
type target struct {
	*cluster
	stop  context.CancelFunc
	users map[owned.Owner]bool
}

func newClusters(ctx context.Context, r *Tenants, mgr ctrl.Manager) (*clusters, error) {
	c := &clusters{tenants: r, scheme: mgr.GetScheme(), away: make(chan struct{}, maxAway), targets: map[string]*target{}}
	direct, err := client.New(r.Config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make the API's client: %w", err)
	}
	c.home, err = newCluster(ctx, "", r.Config, direct, mgr.GetRESTMapper(), r.concerned, r.noticed(""))
	return c, err
}

// concerned are the tenants that an object of ours concerns: those that have it, and those that read it.
func (r *Tenants) concerned(id owned.ID, o metav1.Object) []owned.Owner {
	return append(ownersOf(o), r.book.readersOf(id)...)
}

// noticed hears of every change of an object, and asks for a pass when it matters.
func (r *Tenants) noticed(cluster string) func(owned.Owner, owned.ID, *metav1.PartialObjectMetadata) {
	return func(owner owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata) {
		before, known := r.book.sightOf(owner, place{cluster, id})
		if known && now != nil {
			// What a pass has written comes back to it here.
			if owned.Older(now.ResourceVersion, before.print.Version) {
				return
			}
			readiness, looked := r.clusters.readinessOf(cluster, owner, id)
			if before.print.Same(owned.PrintOf(now)) && (!looked || readiness == before.ready) {
				return
			}
		}
		r.tenantQueue.add(owner, 0)
	}
}

// targetError says why there is no way to the target.
type targetError struct{ message string }

func (e *targetError) Error() string { return e.message }

// target returns the cluster that a tenant names; nil when it names none.
func (c *clusters) target(ctx context.Context, t *tenantv1.Tenant, m *memory) (*cluster, error) {
	owner := client.ObjectKeyFromObject(t)
	ref := t.Spec.KubeConfig
	if ref == nil {
		c.leave(owner, m)
		return nil, nil
	}
	if ref.SecretRef == nil {
		return nil, &targetError{"spec.kubeConfig.configMapRef names credentials of a cloud, which this server has none of: use spec.kubeConfig.secretRef"}
	}
	version, err := secretVersion(ctx, c.tenants.cached, t.Namespace, ref.SecretRef.Name)
	if err != nil {
		return nil, err
	}
	name := types.NamespacedName{Namespace: t.Namespace, Name: ref.SecretRef.Name}
	if version == "" {
		return nil, &targetError{fmt.Sprintf("the Secret %s does not exist, which spec.kubeConfig names", name)}
	}
	key := name.String() + " " + version + " " + ref.SecretRef.Key
	if key != m.target {
		c.leave(owner, m)
	}
	if used := c.use(key, owner, nil); used != nil {
		m.target = key
		return used, nil
	}
	opened, err := c.open(ctx, name, ref.SecretRef.Key)
	if err != nil {
		return nil, err
	}
	m.target = key
	return c.use(key, owner, opened), nil
}

// use says that a tenant uses a target: the one that is there, else the one that was just opened; nil when there is none.
func (c *clusters) use(key string, owner owned.Owner, opened *target) *cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.targets[key]
	switch {
	case found == nil && opened == nil:
		return nil
	case found == nil:
		found, c.targets[key] = opened, opened
	case opened != nil:
		opened.stop()
	}
	found.users[owner] = true
	return found.cluster
}

// open makes the way to the cluster whose kubeconfig is in a Secret.
func (c *clusters) open(ctx context.Context, name types.NamespacedName, key string) (*target, error) {
	r := c.tenants
	var secret corev1.Secret
	if err := r.Reader.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return nil, &targetError{fmt.Sprintf("the Secret %s does not exist, which spec.kubeConfig names", name)}
	} else if err != nil {
		return nil, fmt.Errorf("read the Secret %s that spec.kubeConfig names: %w", name, err)
	}
	content, err := remote.Kubeconfig(&secret, key)
	if err != nil {
		return nil, &targetError{err.Error()}
	}
	config, err := remote.Config(content)
	if err != nil {
		return nil, &targetError{fmt.Sprintf("the Secret %s: %v", name, err)}
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, &targetError{fmt.Sprintf("the kubeconfig in the Secret %s has a certificate or key that cannot be read", name)}
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, err)
	}
	direct, err := client.New(config, client.Options{Scheme: c.scheme, Mapper: mapper, HTTPClient: httpClient})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, err)
	}
	base, stop := context.WithCancel(r.base)
	made, err := newCluster(base, tenantv1.ClusterTarget, config, direct, mapper,
		func(_ owned.ID, o metav1.Object) []owned.Owner { return ownersOf(o) }, r.noticed(tenantv1.ClusterTarget))
	if err != nil {
		stop()
		return nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, err)
	}
	return &target{cluster: made, stop: stop, users: map[owned.Owner]bool{}}, nil
}

// leave says that a tenant uses no target any more.
func (c *clusters) leave(owner owned.Owner, m *memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.targets[m.target]
	m.target = ""
	if t == nil {
		return
	}
	t.watch.Keep(owner, nil)
	delete(t.users, owner)
	if len(t.users) > 0 {
		return
	}
	t.stop()
	for key, other := range c.targets {
		if other == t {
			delete(c.targets, key)
		}
	}
}

// of finds the cluster of a tenant by its name.
func (c *clusters) of(name string, owner owned.Owner) *cluster {
	if name == "" {
		return c.home
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.targets {
		if t.users[owner] {
			return t.cluster
		}
	}
	return nil
}

// readinessOf is how a watch last saw an object; looked is false when it does not look at objects of the kind.
func (c *clusters) readinessOf(name string, owner owned.Owner, id owned.ID) (readiness ready.Readiness, looked bool) {
	k := c.of(name, owner)
	if k == nil {
		return ready.Readiness{}, false
	}
	_, look := k.watch.Look(id)
	readiness, looked = look.(ready.Readiness)
	return readiness, looked
}
