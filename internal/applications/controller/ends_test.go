// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/fake"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// A pass over a tenant that finds another one running gives its worker back.
func TestOnePassOverATenantAtATime(t *testing.T) {
	var all tenants
	end, ok := all.turn()
	if !ok {
		t.Fatal("the first one has no turn")
	}
	if _, ok := all.turn(); ok {
		t.Error("two have a turn")
	}
	end()
	if end, ok = all.turn(); !ok {
		t.Fatal("nobody has a turn after the first one")
	}
	end()
}

// A tenant that waited for room and was deleted without a finalizer waits no more.
func TestATenantThatIsGoneDoesNotWait(t *testing.T) {
	gone, other := Key{"Tenant", "tenant-root", "foo"}, Key{"Tenant", "tenant-root", "bar"}
	a := &Applications{book: &book{kinds: map[string]kind{"Tenant": {backend: appv1.BackendTenant}}}, instances: owned.NewWatch(t.Context(), owned.Options{})}
	a.tenants.wait(gone, true)
	a.tenants.wait(other, true)
	if _, err := a.reconcile(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if waiting := a.tenants.waitingIn("tenant-root"); len(waiting) != 1 || waiting[0] != other {
		t.Errorf("%v wait", waiting)
	}
}

// The watches of a deleted definition end, and those that another one needs do not.
func TestADeletedDefinitionFollowsNothing(t *testing.T) {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	settings, pods := corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Pod")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(settings, meta.RESTScopeNamespace)
	mapper.Add(pods, meta.RESTScopeNamespace)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	watch := func() *owned.Watch {
		w := owned.NewWatch(ctx, owned.Options{Metadata: fake.NewSimpleMetadataClient(scheme), Mapper: mapper,
			Owners:  func(owned.ID, metav1.Object) []owned.Owner { return nil },
			Changed: func(owned.Owner, owned.ID, *metav1.PartialObjectMetadata) {}})
		if err := w.Follow(ctx, owner("mine"), map[schema.GroupKind]string{settings.GroupKind(): "v1", pods.GroupKind(): "v1"}); err != nil {
			t.Fatal(err)
		}
		if err := w.Follow(ctx, owner("other"), map[schema.GroupKind]string{pods.GroupKind(): "v1"}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	a := &Applications{instances: watch(), served: watch(), objects: watch(), releases: watch(), parts: watch()}
	a.unfollow("mine")
	for name, w := range map[string]*owned.Watch{"instances": a.instances, "served": a.served, "objects": a.objects, "releases": a.releases, "parts": a.parts} {
		if w.Follows(settings.GroupKind()) {
			t.Errorf("%s: what the deleted definition needed is watched", name)
		}
		if !w.Follows(pods.GroupKind()) {
			t.Errorf("%s: what another definition needs is not watched", name)
		}
	}
}
