// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

var testPolicy = Policy{Kind: "Owner", Namespace: "spec.namespace", Manager: "tester", Group: "test.yuba.dev"}

// fakeOwners are the owners a and b. All exist and have everything in their inventories, unless the
// test says otherwise.
type fakeOwners struct {
	mu       sync.Mutex
	gone     map[Owner]bool
	emptied  bool
	released []Owner
}

func (f *fakeOwners) Exists(o Owner) bool { return !f.gone[o] }

func (f *fakeOwners) Counts(Owner, ID) bool { return !f.emptied }

func (f *fakeOwners) Freed(owners []Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = append(f.released, owners...)
}

// freed returns the owners that were woken since the last call.
func (f *fakeOwners) freed() []Owner {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.released = nil }()
	return f.released
}

// bench is an engine over a namespace of the API.
type bench struct {
	*testing.T
	owners  *fakeOwners
	engine  *Engine
	cluster *Cluster
	a, b    Owner
	ns      string
	// deleted are the kinds of deletions, in their order.
	deleted []string
}

func newBench(t *testing.T, watched bool) *bench {
	t.Helper()
	b := &bench{T: t, ns: apitest.Namespace(t), owners: &fakeOwners{gone: map[Owner]bool{}}}
	b.a, b.b = Owner{Namespace: b.ns, Name: "a"}, Owner{Namespace: b.ns, Name: "b"}
	c := interceptor.NewClient(apitest.Client(t), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			b.owners.mu.Lock()
			b.deleted = append(b.deleted, o.GetObjectKind().GroupVersionKind().Kind)
			b.owners.mu.Unlock()
			return c.Delete(ctx, o, opts...)
		}})
	b.cluster = &Cluster{Key: "remote", Client: c, Mapper: c.RESTMapper()}
	if watched {
		b.cluster.Key, b.cluster.Own = "", c
	}
	b.restart()
	return b
}

// onBoth runs a test on a watched cluster, as this server's API, and on one that is not.
func onBoth(t *testing.T, test func(*bench)) {
	t.Run("watched", func(t *testing.T) { test(newBench(t, true)) })
	t.Run("remote", func(t *testing.T) { test(newBench(t, false)) })
}

// restart forgets all claims, and watches anew.
func (b *bench) restart() {
	b.engine = New(testPolicy, b.owners, b.owners)
	if b.cluster.Key == "" {
		b.cluster.Watch = testPolicy.NewWatch(b.Context(), metadata.NewForConfigOrDie(apitest.API(b).RESTConfig()), b.cluster.Mapper,
			func(Owner, ID, *metav1.PartialObjectMetadata) {})
	}
}

// object is a manifest with some content at the top level.
func (b *bench) object(kind, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range content {
		u.Object[key] = value
	}
	u.SetAPIVersion("v1")
	u.SetKind(kind)
	u.SetNamespace(b.ns)
	u.SetName(name)
	return u
}

// config is a ConfigMap with one value.
func (b *bench) config(name, value string) *unstructured.Unstructured {
	return b.object("ConfigMap", name, map[string]any{"data": map[string]any{"key": value}})
}

// live reads a ConfigMap; nil if there is none.
func (b *bench) live(name string) *corev1.ConfigMap {
	b.Helper()
	cm := &corev1.ConfigMap{}
	err := b.cluster.Client.Get(b.Context(), client.ObjectKey{Namespace: b.ns, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	b.must(err)
	return cm
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// create makes an object as a person does.
func (b *bench) create(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	b.must(b.cluster.Client.Create(b.Context(), u, client.FieldOwner("person")))
	return u
}

// apply applies a batch. It returns what was done with each object, and the holders of the others.
func (b *bench) apply(owner Owner, force bool, objects ...*unstructured.Unstructured) (done []string, holders []Owner, err error) {
	b.Helper()
	b.must(testPolicy.Prepare(objects, owner, b.cluster.Mapper))
	report, err := b.engine.Apply(b.Context(), b.cluster, Request{Owner: owner, Objects: objects, Force: force, Full: true})
	for _, o := range report.Outcomes {
		done = append(done, string(o.Action))
	}
	for _, c := range report.Conflicts {
		holders = append(holders, c.Holder)
	}
	return done, holders, err
}

// applied applies objects, which must have this result.
func (b *bench) applied(want string, owner Owner, objects ...*unstructured.Unstructured) {
	b.Helper()
	done, holders, err := b.apply(owner, false, objects...)
	b.must(err)
	if len(holders) > 0 || !slices.Equal(done, []string{want}) {
		b.Fatalf("%s applied: %q, held by %v; want %s", owner, done, holders, want)
	}
}

// of marks objects with one label.
type of struct{ *bench }

func (o of) Standing(live, manifest metav1.Object) Standing {
	mine := live.GetLabels()["of"] == manifest.GetLabels()["of"]
	return Standing{Mine: mine, Marked: mine}
}

func (o of) Rival(live, _ metav1.Object, was bool) Rival {
	name := live.GetLabels()["of"]
	switch {
	case len(live.GetOwnerReferences()) > 0:
		return Rival{Name: "its controller", Firm: true}
	case name != "" && o.owners.Exists(Owner{Namespace: o.ns, Name: name}):
		return Rival{Name: name}
	case name == "" && !was:
		return Rival{Name: "a person"}
	}
	return Rival{}
}

func (o of) Adopt(_, manifest metav1.Object) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"of": manifest.GetLabels()["of"]}}}
}

func (o of) References(metav1.Object, metav1.Object) []metav1.OwnerReference { return nil }

// write makes the request to write an object for an owner.
func (b *bench) write(owner Owner, u *unstructured.Unstructured) Write {
	u.SetLabels(map[string]string{"of": owner.Name})
	return Write{Owner: owner, Manifest: u, Ownership: of{b}}
}

// seen completes a request with the object in the API, as a watch has it.
func (b *bench) seen(req Write) Write {
	b.Helper()
	live, err := b.cluster.Metadata(b.Context(), Ref{ID: owned.IDOf(req.Manifest), Version: "v1"})
	b.must(err)
	req.Live = live
	return req
}
