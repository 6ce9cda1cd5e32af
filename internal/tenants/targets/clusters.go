// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/objects/clusters"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

// Hooks are called about objects of tenants, possibly concurrently. cluster is the tenant's name
// for a cluster.
type Hooks struct {
	// Owners are the tenants that are interested in an object.
	Owners func(cluster string, id owned.ID, o metav1.Object) []owned.Owner
	// Changed is called for every change of an object; now is nil when it was deleted.
	Changed func(cluster string, owner owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata)
	// Moved is called when a tenant's name for a cluster may mean another cluster.
	Moved func(cluster string, owner owned.Owner)
	// Defined is called when an API may serve new kinds of a group.
	Defined func(group string)
}

// Clusters has the server's own API and the targets. Methods are safe for concurrent use, by one
// pass of each owner at a time.
type Clusters struct {
	Home *Cluster
	// Turns limit the passes that ask targets.
	Turns *clusters.Turns

	api    *passes.API
	scheme *runtime.Scheme
	hooks  Hooks
	// seal identifies the API that this server belongs to.
	seal string

	mu      sync.Mutex
	targets map[string]*target
	// used are the keys of the targets that an owner uses, by its names for them.
	used map[owned.Owner]map[string]string
}

// target is a cluster with the owners that use it. It is closed when none does.
type target struct {
	*Cluster
	stop  context.CancelFunc
	users map[owned.Owner]bool
}

// New opens home. At most so many passes ask targets at a time.
func New(ctx context.Context, mgr ctrl.Manager, api *passes.API, passesAtATime int, hooks Hooks) (*Clusters, error) {
	c := &Clusters{api: api, scheme: mgr.GetScheme(), hooks: hooks, Turns: clusters.NewTurns(passesAtATime),
		targets: map[string]*target{}, used: map[owned.Owner]map[string]string{}}
	origin := &metav1.PartialObjectMetadata{}
	origin.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := api.Reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceDefault}, origin); err != nil {
		return nil, fmt.Errorf("read the namespace %s, whose UID identifies this API: %w", metav1.NamespaceDefault, err)
	}
	c.seal = string(origin.UID)
	direct, err := client.New(api.Config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("create the API's client: %w", err)
	}
	c.Home, err = c.newCluster(ctx, "", api.Config, direct, mgr.GetRESTMapper())
	return c, err
}

// Seal is the seal of this server's objects in a cluster.
func (c *Clusters) Seal(name string) string {
	if name == "" {
		return ""
	}
	return c.seal
}

// Error is the reason why a target cannot be used.
type Error struct {
	Message string
	// Gone is true if its kubeconfig no longer exists.
	Gone bool
}

func (e *Error) Error() string { return e.Message }

// OwnWords implements engine.OwnWords.
func (e *Error) OwnWords() {}

// unservedPause is the pause before checking again for a kind that no API serves. Definitions and
// kubeconfig Secrets are watched.
const unservedPause = time.Minute

// Pause is the pause before retrying a kind or cluster. No event reports that a cluster answers
// again.
func Pause(err error) time.Duration {
	var lost *Error
	if err == nil || errors.As(err, &lost) && lost.Gone {
		return unservedPause
	}
	return passes.RetryPause
}

// Explain returns an error of a target in Yuba's words.
func Explain(err error) error {
	var mine *Error
	var status apierrors.APIStatus
	switch {
	case err == nil || errors.As(err, &mine) || meta.IsNoMatchError(err):
		return err
	case errors.Is(err, clusters.ErrRedirected):
		return &Error{Message: clusters.ErrRedirected.Error()}
	case !errors.As(err, &status):
		return &Error{Message: outbound.Explain(err)}
	}
	s := status.Status()
	if s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse }) {
		return &Error{Message: fmt.Sprintf("it answers %d (%s), but not like a Kubernetes API", s.Code, s.Reason)}
	}
	return err
}

// Shown returns an error of the cluster that users may see.
func (c *Cluster) Shown(err error) error {
	if c.Name == "" {
		return err
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		c.Hush(c.Now(), Explain(err))
	}
	return Explain(err)
}

// NameOf is a tenant's name for the cluster of a kubeconfig: the Secret and, if given, its key.
func NameOf(ref *fluxmeta.KubeConfigReference) string {
	switch {
	case ref == nil || ref.SecretRef == nil:
		return ""
	case ref.SecretRef.Key == "":
		return ref.SecretRef.Name
	}
	return ref.SecretRef.Name + "/" + ref.SecretRef.Key
}

// Target returns the cluster of a kubeConfig in the namespace of its owner; nil for none.
func (c *Clusters) Target(ctx context.Context, owner owned.Owner, ref *fluxmeta.KubeConfigReference) (*Cluster, error) {
	switch {
	case ref == nil:
		return nil, nil
	case ref.SecretRef == nil:
		return nil, &Error{Message: "spec.kubeConfig.configMapRef names cloud credentials, which this server does not have: use spec.kubeConfig.secretRef"}
	}
	return c.Reach(ctx, owner, NameOf(ref))
}

// Reach returns the cluster that an owner knows by a name.
func (c *Clusters) Reach(ctx context.Context, owner owned.Owner, called string) (*Cluster, error) {
	secret, field, _ := strings.Cut(called, "/")
	name := types.NamespacedName{Namespace: owner.Namespace, Name: secret}
	version, err := SecretVersion(ctx, c.api.Cached, name.Namespace, name.Name)
	if err != nil {
		return nil, err
	}
	if version == "" {
		return nil, missing(name)
	}
	key := name.String() + " " + version + " " + field
	if c.changed(owner, called, key) {
		// The kubeconfig may lead to another cluster now, where recorded versions are invalid.
		c.leave(owner, called)
		c.hooks.Moved(called, owner)
	}
	used := c.use(owner, called, key, nil)
	if used == nil {
		opened, err := c.open(ctx, name, called, key)
		if err != nil {
			return nil, err
		}
		used = c.use(owner, called, key, opened)
	}
	return used, nil
}

func missing(secret types.NamespacedName) error {
	return &Error{fmt.Sprintf("the Secret %s with its kubeconfig does not exist", secret), true}
}

// changed reports whether an owner's name for a cluster meant another target before.
func (c *Clusters) changed(owner owned.Owner, called, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.used[owner][called]
	return before != "" && before != key
}

// use records that an owner uses a target, and returns it: the existing one, else the opened one;
// nil if there is neither.
func (c *Clusters) use(owner owned.Owner, called, key string, opened *target) *Cluster {
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
	if c.used[owner] == nil {
		c.used[owner] = map[string]string{}
	}
	c.used[owner][called] = key
	return found.Cluster
}

// open opens the cluster whose kubeconfig is in a Secret.
func (c *Clusters) open(ctx context.Context, name types.NamespacedName, called, key string) (*target, error) {
	var secret corev1.Secret
	if err := c.api.Reader.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return nil, missing(name)
	} else if err != nil {
		return nil, fmt.Errorf("read the Secret %s with its kubeconfig: %w", name, err)
	}
	_, field, _ := strings.Cut(called, "/")
	content, err := clusters.Kubeconfig(&secret, field)
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	config, err := clusters.Config(content)
	if err != nil {
		return nil, &Error{Message: fmt.Sprintf("the Secret %s: %v", name, err)}
	}
	direct, mapper, err := clusters.Open(config, c.scheme)
	var unreadable *clusters.CredentialsError
	switch {
	case errors.As(err, &unreadable):
		return nil, &Error{Message: fmt.Sprintf("the kubeconfig in the Secret %s has a certificate or key that cannot be read", name)}
	case err != nil:
		return nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, Explain(err))
	}
	base, stop := context.WithCancel(c.api.Base)
	made, err := c.newCluster(base, called, config, direct, mapper)
	if err != nil {
		stop()
		return nil, fmt.Errorf("reach the cluster of the Secret %s: %w", name, Explain(err))
	}
	made.Key, made.Seal = key, c.seal
	return &target{Cluster: made, stop: stop, users: map[owned.Owner]bool{}}, nil
}

// Keep records that an owner uses only these targets.
func (c *Clusters) Keep(owner owned.Owner, used func(called string) bool) {
	c.mu.Lock()
	names := slices.Collect(maps.Keys(c.used[owner]))
	c.mu.Unlock()
	for _, called := range names {
		if !used(called) {
			c.leave(owner, called)
		}
	}
}

// Forget records that an owner uses no targets.
func (c *Clusters) Forget(owner owned.Owner) {
	c.Keep(owner, func(string) bool { return false })
}

// leave records that an owner no longer uses a target.
func (c *Clusters) leave(owner owned.Owner, called string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.used[owner][called]
	if delete(c.used[owner], called); len(c.used[owner]) == 0 {
		delete(c.used, owner)
	}
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

// Of finds a cluster that an owner uses by its name; nil if it uses none of that name.
func (c *Clusters) Of(name string, owner owned.Owner) *Cluster {
	if name == "" {
		return c.Home
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.targets[c.used[owner][name]]; t != nil {
		return t.Cluster
	}
	return nil
}

// Readiness is the last readiness of an object that a watch saw; looked is false for kinds whose
// readiness is not watched.
func (c *Clusters) Readiness(name string, owner owned.Owner, id owned.ID) (readiness ready.Readiness, looked bool) {
	k := c.Of(name, owner)
	if k == nil {
		return ready.Readiness{}, false
	}
	_, look := k.Watch.Look(id)
	readiness, looked = look.(ready.Readiness)
	return readiness, looked
}
