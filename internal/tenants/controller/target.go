// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/objects/clusters"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
)

// ways are the ways to the APIs that have objects.
type ways struct {
	tenants *tenantController
	scheme  *runtime.Scheme
	home    *cluster
	// seal tells the API that this server belongs to from all others.
	seal string
	// turns limit the passes that ask targets.
	turns *clusters.Turns

	mu      sync.Mutex
	targets map[string]*target
}

// maxAway is how many passes ask targets at a time.
const maxAway = tenantWorkers / 2

// target is a cluster that tenants name, with the tenants that use it. It is closed when nobody
// does.
type target struct {
	*cluster
	stop  context.CancelFunc
	users map[owned.Owner]bool
}

func newWays(ctx context.Context, r *tenantController, mgr ctrl.Manager) (*ways, error) {
	c := &ways{tenants: r, scheme: mgr.GetScheme(), turns: clusters.NewTurns(maxAway), targets: map[string]*target{}}
	origin := &metav1.PartialObjectMetadata{}
	origin.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(namespaceKind.Kind))
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceDefault}, origin); err != nil {
		return nil, fmt.Errorf("read the namespace %s, whose uid tells this API from others: %w", metav1.NamespaceDefault, err)
	}
	c.seal = string(origin.UID)
	direct, err := client.New(r.Config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make the API's client: %w", err)
	}
	c.home, err = r.newCluster(ctx, "", r.Config, direct, mgr.GetRESTMapper(), r.concerned, r.noticed(""))
	return c, err
}

// concerned are the tenants that have an object of our API, and those that read it.
func (r *tenantController) concerned(id owned.ID, o metav1.Object) []owned.Owner {
	return append(ownersOf(o), r.readers.in(id)...)
}

// noticed requests a pass when an object changes in a way that matters.
func (r *tenantController) noticed(cluster string) func(owned.Owner, owned.ID, *metav1.PartialObjectMetadata) {
	return func(owner owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata) {
		before, known := r.sights.of(owner, place{cluster, id})
		if !known && now != nil && isStray(now, owner, r.clusters.sealOf(cluster)) {
			r.memories.stray(owner, place{cluster, id})
		}
		if known && now != nil {
			// The watch returns what a pass has written.
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

// sealOf is the seal of this server's objects in a cluster.
func (c *ways) sealOf(name string) string {
	if name == "" {
		return ""
	}
	return c.seal
}

// targetError says why a target cannot be reached. gone means that its kubeconfig does not exist
// any more.
type targetError struct {
	message string
	gone    bool
}

func (e *targetError) Error() string { return e.message }

// OwnWords implements engine.OwnWords.
func (e *targetError) OwnWords() {}

// said is an error of a target in our own words. The author of a kubeconfig decides where requests
// go, and must not read what other servers answer to this one.
func said(err error) error {
	var mine *targetError
	var status apierrors.APIStatus
	switch {
	case err == nil || errors.As(err, &mine) || meta.IsNoMatchError(err):
		return err
	case errors.Is(err, clusters.ErrRedirected):
		return &targetError{message: clusters.ErrRedirected.Error()}
	case !errors.As(err, &status):
		return &targetError{message: outbound.Explain(err)}
	}
	s := status.Status()
	if s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse }) {
		return &targetError{message: fmt.Sprintf("it answers %d (%s), and not as an API does", s.Code, s.Reason)}
	}
	return err
}

// said is an error of the cluster as it may be shown.
func (c *cluster) said(err error) error {
	if c.name == "" {
		return err
	}
	c.hear(err)
	return said(err)
}

// hear notes that a target did not answer, which takes long to find out: not every object and
// tenant has to.
func (c *cluster) hear(err error) {
	var network net.Error
	if c.name != "" && errors.As(err, &network) && network.Timeout() {
		c.hush(c.now().Add(targetRetryPause), said(err))
	}
}

// nameOf is a tenant's name for the cluster of a kubeconfig: the Secret and, if given, its key.
func nameOf(ref *fluxmeta.KubeConfigReference) string {
	switch {
	case ref == nil || ref.SecretRef == nil:
		return ""
	case ref.SecretRef.Key == "":
		return ref.SecretRef.Name
	}
	return ref.SecretRef.Name + "/" + ref.SecretRef.Key
}

// target returns the cluster that a tenant's spec names; nil when it names none.
func (c *ways) target(ctx context.Context, t *tenantv1.Tenant, m *memory) (*cluster, error) {
	ref := t.Spec.KubeConfig
	switch {
	case ref == nil:
		return nil, nil
	case ref.SecretRef == nil:
		return nil, &targetError{message: "spec.kubeConfig.configMapRef names credentials of a cloud, which this server has none of: use spec.kubeConfig.secretRef"}
	}
	return c.reach(ctx, client.ObjectKeyFromObject(t), nameOf(ref), m)
}

// reach returns the cluster that a tenant calls by this name.
func (c *ways) reach(ctx context.Context, owner owned.Owner, called string, m *memory) (*cluster, error) {
	secret, field, _ := strings.Cut(called, "/")
	name := types.NamespacedName{Namespace: owner.Namespace, Name: secret}
	version, err := secretVersion(ctx, c.tenants.cached, name.Namespace, name.Name)
	if err != nil {
		return nil, err
	}
	if version == "" {
		return nil, &targetError{fmt.Sprintf("there is no Secret %s with its kubeconfig", name), true}
	}
	key := name.String() + " " + version + " " + field
	if before := m.targets[called]; before != "" && before != key {
		// The kubeconfig may lead to another cluster now: recorded versions mean nothing there.
		c.leave(owner, m, called)
		m.leave(called)
		c.tenants.sights.leave(owner, called)
	}
	used := c.use(key, owner, nil)
	if used == nil {
		opened, err := c.open(ctx, name, called, key)
		if err != nil {
			return nil, err
		}
		used = c.use(key, owner, opened)
	}
	m.targets[called] = key
	return used, nil
}

// use records that a tenant uses a target, and returns it: the existing one, else the opened one;
// nil when there is neither.
func (c *ways) use(key string, owner owned.Owner, opened *target) *cluster {
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

// open opens the cluster whose kubeconfig is in a Secret.
func (c *ways) open(ctx context.Context, name types.NamespacedName, called, key string) (*target, error) {
	r := c.tenants
	var secret corev1.Secret
	if err := r.Reader.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return nil, &targetError{fmt.Sprintf("there is no Secret %s with its kubeconfig", name), true}
	} else if err != nil {
		return nil, fmt.Errorf("read the Secret %s with its kubeconfig: %w", name, err)
	}
	_, field, _ := strings.Cut(called, "/")
	content, err := clusters.Kubeconfig(&secret, field)
	if err != nil {
		return nil, &targetError{message: err.Error()}
	}
	config, err := clusters.Config(content)
	if err != nil {
		return nil, &targetError{message: fmt.Sprintf("the Secret %s: %v", name, err)}
	}
	direct, mapper, err := clusters.Open(config, c.scheme)
	var unreadable *clusters.CredentialsError
	switch {
	case errors.As(err, &unreadable):
		return nil, &targetError{message: fmt.Sprintf("the kubeconfig in the Secret %s has a certificate or key that cannot be read", name)}
	case err != nil:
		return nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, said(err))
	}
	base, stop := context.WithCancel(r.base)
	made, err := r.newCluster(base, called, config, direct, mapper, func(_ owned.ID, o metav1.Object) []owned.Owner { return ownersOf(o) }, r.noticed(called))
	if err != nil {
		stop()
		return nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, said(err))
	}
	made.Key, made.seal = key, c.seal
	return &target{cluster: made, stop: stop, users: map[owned.Owner]bool{}}, nil
}

// keep records that a tenant uses only these targets.
func (c *ways) keep(owner owned.Owner, m *memory, used func(called string) bool) {
	for called := range maps.Clone(m.targets) {
		if !used(called) {
			c.leave(owner, m, called)
		}
	}
}

// leave records that a tenant no longer uses a target.
func (c *ways) leave(owner owned.Owner, m *memory, called string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := m.targets[called]
	delete(m.targets, called)
	t := c.targets[key]
	if t == nil {
		return
	}
	t.Watch.Keep(owner, nil)
	delete(t.users, owner)
	if len(t.users) == 0 {
		t.stop()
		delete(c.targets, key)
	}
}

// of finds the cluster of a tenant by its name.
func (c *ways) of(name string, owner owned.Owner) *cluster {
	if name == "" {
		return c.home
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.targets {
		if t.name == name && t.users[owner] {
			return t.cluster
		}
	}
	return nil
}

// readinessOf is the last readiness of an object that a watch saw; looked is false for kinds whose
// readiness it does not look at.
func (c *ways) readinessOf(name string, owner owned.Owner, id owned.ID) (readiness ready.Readiness, looked bool) {
	k := c.of(name, owner)
	if k == nil {
		return ready.Readiness{}, false
	}
	_, look := k.Watch.Look(id)
	readiness, looked = look.(ready.Readiness)
	return readiness, looked
}
