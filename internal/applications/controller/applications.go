// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// Applications serves application kinds, and makes objects of their instances.
type Applications struct {
	// Client reads the cache and writes; Reader bypasses the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger
	// LoneServer is true if the API has one server, as that of the embedded home.
	LoneServer bool
	// Programs finds what programs in sources and registries declare; nil leaves that to their runs.
	// SourceKinds are the kinds of sources that the API serves.
	Programs    Programs
	SourceKinds []string

	base  context.Context
	kinds apiextensions.Interface
	roles rbacclient.RbacV1Interface
	book  *book
	// instanceClient writes instances.
	instanceClient client.Client
	// instances follows the instances of all kinds, releases the objects of those with Helm, and
	// served the CustomResourceDefinitions.
	instances, releases, served *owned.Watch
	// parts follows the namespaces of tenants, and what Yuba has put into them.
	parts   *owned.Watch
	tenants tenants
	engine  *engine.Engine
	cluster *engine.Cluster
	// objects follows those of instances with several, besides stacks and instances.
	objects *owned.Watch
	// direct is cluster without a cache.
	direct *engine.Cluster
	memory memory
	// granted has the digests of the roles that were written, by the UIDs of their definitions.
	granted sync.Map

	instanceQueue queue[Key]
	defineQueue   queue[reconcile.Request]
	rollQueue     queue[string]
}

// Key names an instance.
type Key struct{ Kind, Namespace, Name string }

func (k Key) String() string { return k.Kind + "/" + k.Namespace + "/" + k.Name }

func (k Key) id() owned.ID {
	return owned.ID{GroupKind: groupKind(k.Kind), Namespace: k.Namespace, Name: k.Name}
}

func keyOf(id owned.ID) Key { return Key{id.GroupKind.Kind, id.Namespace, id.Name} }

// queue requests passes of one controller. The zero value is ready to use.
type queue[T comparable] struct {
	to atomic.Pointer[workqueue.TypedRateLimitingInterface[T]]
}

// Add requests a pass after a while. A controller that has not started ignores it.
func (q *queue[T]) Add(what T, after time.Duration) {
	if to := q.to.Load(); to != nil {
		(*to).AddAfter(what, after)
	}
}

// sight is what memory has of an instance besides its metadata.
type sight struct {
	// spec and status are JSON.
	spec, status json.RawMessage
	finalizers   []string
}

// see makes the sight of an instance.
func see(u *unstructured.Unstructured) any {
	s := &sight{finalizers: u.GetFinalizers()}
	// An object that came as JSON can be written as JSON.
	s.spec, _ = json.Marshal(u.Object["spec"])     //nolint:errchkjson // see above
	s.status, _ = json.Marshal(u.Object["status"]) //nolint:errchkjson // see above
	return s
}

// memory has what passes remember of instances.
type memory struct {
	mu  sync.Mutex
	all map[Key]memo
}

// memo is what a pass leaves for the next one.
type memo struct {
	// version is that of the instance after the last write of its status or finalizer.
	version string
	// digest is that of the object's manifest, and left the object after the last write or comparison.
	digest string
	left   owned.Print
	// stamp is that of the object after the last write.
	stamp stamp
	// shown is the digest of the outputs that a pass took from the Secret for the status.
	shown [sha256.Size]byte
	// parts are the objects of a tenant.
	parts map[owned.ID]left
	// pieces are the objects of an instance with several.
	pieces map[owned.ID]partMemo
}

// partMemo is what a pass leaves about one of several objects.
type partMemo struct {
	version, digest string
	left            owned.Print
	stamp           stamp
	// outputs are those of a stack, as its status with that digest says.
	outputsDigest string
	outputs       map[string]any
}

func (m *memo) part(id owned.ID, change func(*partMemo)) {
	if m.pieces == nil {
		m.pieces = map[owned.ID]partMemo{}
	}
	one := m.pieces[id]
	change(&one)
	m.pieces[id] = one
}

func (m *memo) setPart(c *component, left owned.Print, mark stamp) {
	m.part(c.id, func(one *partMemo) {
		one.version, one.digest, one.left, one.stamp = c.gvk.Version, c.digest, left, mark
	})
}

func (m *memo) setOutputs(c *component, digest string, outputs map[string]any) {
	m.part(c.id, func(one *partMemo) { one.version, one.outputsDigest, one.outputs = c.gvk.Version, digest, outputs })
}

func (m *memory) get(k Key) memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[k]
}

func (m *memory) change(k Key, f func(*memo)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[Key]memo{}
	}
	one := m.all[k]
	f(&one)
	m.all[k] = one
}

func (m *memory) forget(k Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, k)
}

// Exists implements engine.Owners. Instances claim no objects: each object has one possible instance.
func (a *Applications) Exists(engine.Owner) bool { return true }

// Freed implements engine.Owners.
func (a *Applications) Freed([]engine.Owner) {}

// wake requests passes over all instances of a kind.
func (a *Applications) wake(name string) {
	a.instances.Each(groupKind(name), func(m *metav1.PartialObjectMetadata, _ any) {
		a.instanceQueue.Add(Key{name, m.Namespace, m.Name}, 0)
	})
}

// owner is the name under which a definition follows a kind.
func owner(definition string) owned.Owner { return types.NamespacedName{Name: definition} }

func version(of schema.GroupKind) map[schema.GroupKind]string {
	return map[schema.GroupKind]string{of: appv1.InstanceVersion.Version}
}
