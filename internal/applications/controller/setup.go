// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

const (
	// workers is how many instances are reconciled at a time, and definers how many definitions. A pass
	// waits for requests, never for readiness.
	workers, definers = 8, 2
	// shortest and longest limit the backoff of failed passes, as in package reconciling.
	shortest, longest = 5 * time.Millisecond, 30 * time.Second
	// countAfter is when the number of instances is counted anew.
	countAfter = 2 * time.Second
	// sourceGroup is the API group of sources.
	sourceGroup = "source.toolkit.fluxcd.io"
)

// SetupWithManager starts the controllers. The watches end with ctx.
func (a *Applications) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := a.open(ctx, mgr); err != nil {
		return fmt.Errorf("open the clients of applications: %w", err)
	}
	define := ctrl.NewControllerManagedBy(mgr).Named("applicationdefinition").
		For(&appv1.ApplicationDefinition{}, builder.WithPredicates(reconciling.Triggers())).
		// A definition that goes may leave its names to another one.
		Watches(&appv1.ApplicationDefinition{}, handler.EnqueueRequestsFromMapFunc(a.others), builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false }, GenericFunc: func(event.GenericEvent) bool { return false },
		})).
		WatchesRawSource(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			a.defineQueue.to.Store(&q)
			return nil
		})).
		WithOptions(reconciling.Options(definers))
	for _, kind := range a.SourceKinds {
		of := &metav1.PartialObjectMetadata{}
		of.SetGroupVersionKind(schema.GroupVersionKind{Group: sourceGroup, Version: "v1", Kind: kind})
		define = define.WatchesMetadata(of, a.sourceChanged(kind))
	}
	err := define.Complete(reconcile.Func(a.define))
	if err != nil {
		return fmt.Errorf("set up the controller of application definitions: %w", err)
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err = builder.TypedControllerManagedBy[Key](mgr).Named("application").
		Watches(&infrav1.Terraform{}, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []Key { return a.concerned(o) })).
		WatchesMetadata(&corev1.Secret{}, handler.TypedEnqueueRequestsFromMapFunc(a.platformChanged), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesMetadata(namespace, handler.TypedEnqueueRequestsFromMapFunc(a.within), builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WatchesRawSource(source.TypedFunc[Key](func(_ context.Context, q workqueue.TypedRateLimitingInterface[Key]) error {
			a.instanceQueue.to.Store(&q)
			return nil
		})).
		WithOptions(controller.TypedOptions[Key]{MaxConcurrentReconciles: workers, SkipNameValidation: ptr.To(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[Key](shortest, longest)}).
		Complete(reconcile.TypedFunc[Key](a.reconcile))
	if err != nil {
		return fmt.Errorf("set up the controller of applications: %w", err)
	}
	err = builder.TypedControllerManagedBy[string](mgr).Named("applicationrollout").
		WatchesRawSource(source.TypedFunc[string](func(_ context.Context, q workqueue.TypedRateLimitingInterface[string]) error {
			a.rollQueue.to.Store(&q)
			return nil
		})).
		WithOptions(controller.TypedOptions[string]{MaxConcurrentReconciles: 1, SkipNameValidation: ptr.To(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](shortest, longest)}).
		Complete(reconcile.TypedFunc[string](a.roll))
	if err != nil {
		return fmt.Errorf("set up the controller of rollouts: %w", err)
	}
	return nil
}

// open makes the clients and watches.
func (a *Applications) open(ctx context.Context, mgr ctrl.Manager) (err error) {
	config := mgr.GetConfig()
	a.base, a.book = ctx, newBook()
	// The embedded API accepts no CustomResourceDefinitions, and no options about them, as protobuf, which
	// the client takes for what is not set.
	plain := rest.CopyConfig(config)
	plain.ContentType, plain.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if a.kinds, err = apiextensions.NewForConfig(plain); err != nil {
		return err
	}
	if a.roles, err = rbacclient.NewForConfig(config); err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	m := mapper{mgr.GetRESTMapper(), a.book}
	if a.instanceClient, err = client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: m}); err != nil {
		return err
	}
	whole := func(see func(*unstructured.Unstructured) any) func(schema.GroupKind) func(*unstructured.Unstructured) any {
		return func(schema.GroupKind) func(*unstructured.Unstructured) any { return see }
	}
	a.instances = owned.NewWatch(ctx, owned.Options{Metadata: meta, Objects: objects, Mapper: m, Look: whole(see), WithOwnerReferences: true,
		Owners: func(_ owned.ID, o metav1.Object) []owned.Owner { return append(makers(o), owned.Owner{}) },
		Changed: func(maker owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata) {
			if maker.Name == "" {
				a.noticed(id, now)
				return
			}
			a.instanceQueue.Add(madeBy(maker), 0)
		}})
	a.objects = owned.NewWatch(ctx, owned.Options{Metadata: meta, Objects: objects, Mapper: m, Look: lookAt, Selector: appv1.LabelKind, WithOwnerReferences: true,
		Owners: func(_ owned.ID, o metav1.Object) []owned.Owner { return makers(o) },
		Changed: func(maker owned.Owner, _ owned.ID, _ *metav1.PartialObjectMetadata) {
			a.instanceQueue.Add(madeBy(maker), 0)
		}})
	a.releases = owned.NewWatch(ctx, owned.Options{Metadata: meta, Objects: objects, Mapper: m, Look: whole(seeRelease), Selector: appv1.LabelKind, WithOwnerReferences: true,
		Owners: func(owned.ID, metav1.Object) []owned.Owner { return []owned.Owner{{}} },
		Changed: func(_ owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata) {
			a.releaseChanged(id, now)
		}})
	a.parts = owned.NewWatch(ctx, owned.Options{Metadata: meta, Mapper: mgr.GetRESTMapper(), Selector: appv1.LabelNamespace,
		Owners:  func(owned.ID, metav1.Object) []owned.Owner { return []owned.Owner{{}} },
		Changed: func(_ owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata) { a.partChanged(id, now) }})
	a.served = owned.NewWatch(ctx, owned.Options{Metadata: meta, Mapper: mgr.GetRESTMapper(), Selector: appv1.LabelDefinition,
		Owners: func(_ owned.ID, o metav1.Object) []owned.Owner {
			return []owned.Owner{owner(o.GetLabels()[appv1.LabelDefinition])}
		},
		Changed: func(definition owned.Owner, _ owned.ID, _ *metav1.PartialObjectMetadata) {
			a.defineQueue.Add(reconcile.Request{NamespacedName: definition}, 0)
		}})
	a.engine = engine.New(engine.Policy{Kind: "Application", Manager: appv1.FieldManager}, a, nil)
	a.cluster = &engine.Cluster{Client: a.Client, Mapper: mgr.GetRESTMapper()}
	a.direct = &engine.Cluster{Client: a.instanceClient, Mapper: m}
	return nil
}

// others requests passes over all other definitions.
func (a *Applications) others(ctx context.Context, gone client.Object) (requests []reconcile.Request) {
	var list appv1.ApplicationDefinitionList
	if err := a.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		a.Log.Error("cannot list the application definitions after one was deleted", "definition", gone.GetName(), "error", err)
	}
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// within requests passes over the instances of a namespace, whose identity may have changed.
func (a *Applications) within(_ context.Context, namespace client.Object) (keys []Key) {
	for _, name := range a.book.choosers() {
		a.instances.Each(groupKind(name), func(m *metav1.PartialObjectMetadata, _ any) {
			if m.Namespace == namespace.GetName() {
				keys = append(keys, Key{name, m.Namespace, m.Name})
			}
		})
	}
	return keys
}

// concerned are the instances that a stack is of, or that would have one of its name: they wait until
// another owner is gone, or until the stack has arrived from another home. A deleted tenant waits until
// its namespace is empty.
func (a *Applications) concerned(stack metav1.Object) []Key {
	keys := instancesOf(stack)
	if len(keys) > 0 {
		return keys
	}
	if one, ok := a.tenants.in(stack.GetNamespace()); ok {
		keys = append(keys, one.key)
	}
	for name, k := range a.book.all() {
		instance, ok := strings.CutPrefix(stack.GetName(), k.prefix)
		if !ok || k.backend != appv1.BackendTerraform {
			continue
		}
		key := Key{name, stack.GetNamespace(), instance}
		if m, _ := a.instances.Look(key.id()); m != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// instancesOf is the instance that controls an object.
func instancesOf(o metav1.Object) []Key {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || !strings.HasPrefix(ref.APIVersion, appv1.InstanceVersion.Group+"/") {
		return nil
	}
	return []Key{{ref.Kind, o.GetNamespace(), ref.Name}}
}

// makers names the instance that controls an object, as an owner: its kind is a part of the name.
func makers(o metav1.Object) (owners []owned.Owner) {
	for _, key := range instancesOf(o) {
		owners = append(owners, owned.Owner{Namespace: key.Namespace, Name: key.Kind + "/" + key.Name})
	}
	return owners
}

// madeBy is the instance that makers names.
func madeBy(maker owned.Owner) Key {
	kind, name, _ := strings.Cut(maker.Name, "/")
	return Key{kind, maker.Namespace, name}
}

// noticed requests a pass over an instance that has changed, and a count if it came or went.
func (a *Applications) noticed(id owned.ID, now *metav1.PartialObjectMetadata) {
	key := keyOf(id)
	known := a.memory.get(key).version
	if now != nil && known != "" && !owned.Older(known, now.ResourceVersion) {
		return // a pass's own write
	}
	a.instanceQueue.Add(key, 0)
	if now == nil {
		a.wakeWaiting(key.Namespace)
	}
	if k, ok := a.book.get(key.Kind); ok && (now == nil || known == "") {
		a.defineQueue.Add(reconcile.Request{NamespacedName: owner(k.definition)}, countAfter)
	}
}

// releaseChanged requests a pass over the instance of a release.
func (a *Applications) releaseChanged(id owned.ID, now *metav1.PartialObjectMetadata) {
	if now != nil {
		for _, key := range instancesOf(now) {
			a.instanceQueue.Add(key, 0)
		}
		return
	}
	// Whose it was is known from its name.
	for name, k := range a.book.all() {
		if instance, ok := strings.CutPrefix(id.Name, k.prefix); ok && k.backend == appv1.BackendHelm {
			a.instanceQueue.Add(Key{name, id.Namespace, instance}, 0)
		}
	}
}

// crds is the kind of CustomResourceDefinitions.
var crds = schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
