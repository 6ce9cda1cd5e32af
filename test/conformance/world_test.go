// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// behaviour is one thing that a controller does, and a test for it.
type behaviour struct {
	// name begins with tofu-controller's number of the case, or with pain_NN.
	name string
	run  func(*world)
}

// world is the environment of one case: a namespace of a home.
type world struct {
	*testing.T
	*home
	namespace string
}

// run tests all behaviours in a home, in parallel.
func run(t *testing.T, h *home) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.run(newWorld(t, h))
		})
	}
}

func newWorld(t *testing.T, h *home) *world {
	w := &world{T: t, home: h}
	w.namespace = w.newNamespace()
	return w
}

// newNamespace creates a namespace. Its stacks are deleted when the case ends, so that they use no
// more time.
func (w *world) newNamespace() string {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "conformance-"}}
	w.create(ns)
	// Where runs are Pods, they need it, as tofu-controller's do.
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: infrav1.DefaultServiceAccount}})
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), *patience)
		defer cancel()
		err := errors.Join(w.client.DeleteAllOf(ctx, &infrav1.Terraform{}, client.InNamespace(ns.Name)), w.client.Delete(ctx, ns))
		if err != nil {
			w.Errorf("tidy up: %v", err)
		}
	})
	return ns.Name
}

// create creates objects, in the world's namespace unless they have one.
func (w *world) create(objs ...client.Object) {
	w.Helper()
	for _, obj := range objs {
		if _, cluster := obj.(*corev1.Namespace); !cluster && obj.GetNamespace() == "" {
			obj.SetNamespace(w.namespace)
		}
		if err := w.client.Create(w.Context(), obj); err != nil {
			w.Fatalf("create %s: %v", obj.GetName(), err)
		}
	}
}

// stack creates a stack with the manifest as its spec. By default, its source is the GitRepository
// "program", its interval an hour and its retryInterval a second.
func (w *world) stack(name, manifest string, args ...any) {
	w.Helper()
	w.create(w.manifest(name, manifest, args...))
}

func (w *world) manifest(name, manifest string, args ...any) *infrav1.Terraform {
	w.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, RetryInterval: &metav1.Duration{Duration: time.Second},
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: infrav1.SourceKindGitRepository, Name: "program"}}}
	if err := yaml.UnmarshalStrict(fmt.Appendf(nil, manifest, args...), &obj.Spec); err != nil {
		w.Fatalf("the manifest of %s: %v", name, err)
	}
	return obj
}

// key is the name of an object in the world's namespace.
func (w *world) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.namespace, Name: name}
}

// get reads the current stack.
func (w *world) get(name string) *infrav1.Terraform {
	w.Helper()
	obj := &infrav1.Terraform{}
	if err := w.client.Get(w.Context(), w.key(name), obj); err != nil {
		w.Fatal(err)
	}
	return obj
}

// change patches a stack.
func (w *world) change(name string, mutate func(*infrav1.Terraform)) {
	w.Helper()
	obj := w.get(name)
	before := obj.DeepCopy()
	mutate(obj)
	if err := w.client.Patch(w.Context(), obj, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// edit merges a manifest into a stack's spec.
func (w *world) edit(name, manifest string, args ...any) {
	w.Helper()
	spec, err := yaml.YAMLToJSON(fmt.Appendf(nil, manifest, args...))
	if err != nil {
		w.Fatal(err)
	}
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.client.Patch(w.Context(), obj, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":%s}`, spec))); err != nil {
		w.Fatalf("edit %s: %v", name, err)
	}
}

// request requests a reconciliation, like `flux reconcile`, and returns the request.
func (w *world) request(name string) string {
	w.Helper()
	at := time.Now().Format(time.RFC3339Nano)
	w.change(name, func(o *infrav1.Terraform) {
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[infrav1.AnnotationReconcile] = at
	})
	return at
}

func (w *world) delete(obj client.Object) {
	w.Helper()
	if obj.GetNamespace() == "" {
		obj.SetNamespace(w.namespace)
	}
	if err := w.client.Delete(w.Context(), obj); err != nil {
		w.Fatal(err)
	}
}

// deleteStack deletes a stack; awaitGone waits until it is gone.
func (w *world) deleteStack(name string) {
	w.Helper()
	w.delete(&infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// await watches a stack until it is as the sentence says, and returns it.
func (w *world) await(name, sentence string, is func(*infrav1.Terraform) bool) *infrav1.Terraform {
	w.Helper()
	return w.follow(name, sentence, func(e watch.EventType, o *infrav1.Terraform) bool { return e != watch.Deleted && is(o) })
}

// awaitGone watches a stack until it is deleted.
func (w *world) awaitGone(name string) {
	w.Helper()
	eventually(w.T, name+" is gone", func() error {
		err := w.client.Get(w.Context(), w.key(name), &infrav1.Terraform{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("it is there")
		}
		return err
	}, func() string { return statusOf(w.get(name)) }, w.log)
}

// follow watches a stack until the event that is wanted.
func (w *world) follow(name, sentence string, is func(watch.EventType, *infrav1.Terraform) bool) *infrav1.Terraform {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), *patience)
	defer cancel()
	last := &infrav1.Terraform{}
	for ctx.Err() == nil {
		events, err := w.client.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(w.namespace), client.MatchingFields{"metadata.name": name})
		if err != nil {
			// The API may be busy; another watch replaces this one until the timeout.
			continue
		}
		for event := range events.ResultChan() {
			if seen, ok := event.Object.(*infrav1.Terraform); ok {
				last = seen
				if is(event.Type, seen) {
					events.Stop()
					return seen
				}
			}
		}
	}
	w.Fatalf("%s: timed out waiting until %s.\n%s\n%s", name, sentence, statusOf(last), w.log())
	return nil
}

func statusOf(o *infrav1.Terraform) string {
	text, err := yaml.Marshal(map[string]any{"generation": o.Generation, "deletionTimestamp": o.DeletionTimestamp, "finalizers": o.Finalizers, "status": o.Status})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// secret reads the data of a Secret.
func (w *world) secret(name string) map[string]string {
	w.Helper()
	var s corev1.Secret
	if err := w.client.Get(w.Context(), w.key(name), &s); err != nil {
		w.Fatal(err)
	}
	return text(s.Data)
}

func text(data map[string][]byte) map[string]string {
	out := map[string]string{}
	for k, v := range data {
		out[k] = string(v)
	}
	return out
}

// awaitSecret waits until a Secret has the data.
func (w *world) awaitSecret(name string, want map[string]string) {
	w.Helper()
	eventually(w.T, "Secret "+name+" has the data", func() error {
		var s corev1.Secret
		if err := w.client.Get(w.Context(), w.key(name), &s); err != nil {
			return err
		}
		if diff := cmp.Diff(want, text(s.Data)); diff != "" {
			return errors.New("(-want +got)\n" + diff)
		}
		return nil
	}, w.log)
}

// awaitNothing waits until an object does not exist.
func (w *world) awaitNothing(obj client.Object, name string) {
	w.Helper()
	eventually(w.T, name+" is gone", func() error {
		err := w.client.Get(w.Context(), w.key(name), obj)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			return errors.New("it is there")
		}
		return err
	}, w.log)
}

// exists reports whether an object exists.
func (w *world) exists(obj client.Object, name string) bool {
	w.Helper()
	err := w.client.Get(w.Context(), w.key(name), obj)
	if err != nil && !apierrors.IsNotFound(err) {
		w.Fatal(err)
	}
	return err == nil
}

// state is the part of a state that the cases check.
type state struct {
	Serial    int64
	Lineage   string
	Resources []struct {
		Mode, Type, Name string
		Instances        []struct{ Attributes map[string]any }
	}
}

// addresses are the managed resources of a state.
func (s *state) addresses() []string {
	var out []string
	for _, r := range s.Resources {
		if r.Mode == "managed" {
			out = append(out, r.Type+"."+r.Name)
		}
	}
	return out
}

// id is the id of a resource's first instance.
func (s *state) id(address string) string {
	for _, r := range s.Resources {
		if r.Type+"."+r.Name == address && len(r.Instances) > 0 {
			id, _ := r.Instances[0].Attributes["id"].(string)
			return id
		}
	}
	return ""
}

// state reads a state from the Secret of the kubernetes backend.
func (w *world) state(secret string) *state {
	w.Helper()
	s := &state{}
	if err := json.Unmarshal(w.stateBytes(secret), s); err != nil {
		w.Fatalf("read the state in Secret %s: %v", secret, err)
	}
	return s
}

func (w *world) stateBytes(secret string) []byte {
	w.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader([]byte(w.secret(secret)["tfstate"])))
	if err != nil {
		w.Fatalf("read the state in Secret %s: %v", secret, err)
	}
	data, err := io.ReadAll(zipped)
	if err != nil {
		w.Fatalf("read the state in Secret %s: %v", secret, err)
	}
	return data
}
