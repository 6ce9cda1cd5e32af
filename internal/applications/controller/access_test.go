// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// bind gives a role to a user of its name, in the namespace.
func (w *world) bind(role string) (user string) {
	w.Helper()
	user = role + "-in-" + w.namespace
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "of-" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}
	if err := w.Create(context.Background(), binding); err != nil {
		w.Fatal(err)
	}
	return user
}

// may asks the API what a user may do in a namespace: VERB GROUP RESOURCE SUBRESOURCE.
func (w *world) may(user, namespace, verb, group, resource, subresource string) bool {
	w.Helper()
	clients, err := kubernetes.NewForConfig(apitest.API(w).RESTConfig())
	if err != nil {
		w.Fatal(err)
	}
	review, err := clients.AuthorizationV1().SubjectAccessReviews().Create(context.Background(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource}}}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return review.Status.Allowed
}

func TestWhoMayUseAKind(t *testing.T) {
	w := newWorld(t)
	apps, content := appv1.InstanceVersion.Group, "content.yuba.dev"
	d := w.define("Crate", bucketYAML)
	w.awaitDefinition(d, appv1.ReasonServed)
	users := map[string]string{}
	for _, role := range []string{"view", "edit", "admin", "yuba:application-user"} {
		users[role] = w.bind(role)
	}
	check := func(verb, group, resource, subresource string, roles ...string) {
		t.Helper()
		want := map[string]bool{}
		for _, role := range roles {
			want[role] = true
		}
		for role, user := range users {
			w.until(fmt.Sprintf("%s may %s %s/%s: %t", role, verb, resource, subresource, want[role]), func() (bool, string) {
				return w.may(user, w.namespace, verb, group, resource, subresource) == want[role], ""
			})
			if w.may(user, "default", verb, group, resource, subresource) {
				t.Errorf("%s may %s %s/%s in another namespace", role, verb, resource, subresource)
			}
		}
	}
	check("create", apps, "crates", "", "edit", "admin", "yuba:application-user")
	check("delete", apps, "crates", "", "edit", "admin", "yuba:application-user")
	check("list", apps, "crates", "", "view", "edit", "admin", "yuba:application-user")
	check("create", content, "crates", "approve", "edit", "admin", "yuba:application-user")
	check("get", content, "crates", "plan", "view", "edit", "admin", "yuba:application-user")
	// The server writes statuses, and nobody else; kinds of others are not in the roles.
	check("patch", apps, "crates", "status")
	check("update", apps, "crates", "finalizers")
	check("create", apps, "others", "")
	check("list", infrav1.GroupVersion.Group, "terraforms", "", "view", "edit", "admin")
	check("get", "", "secrets", "", "edit", "admin")

	for rule, roles := range map[appv1.AggregateTo][]string{appv1.AggregateToAdmin: {"admin"}, appv1.AggregateToNone: nil, "": {"edit", "admin", "yuba:application-user"}} {
		w.until("the definition is changed", func() (bool, string) {
			if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
				return false, err.Error()
			}
			d.Spec.AggregateTo = rule
			return w.Update(context.Background(), d) == nil, ""
		})
		check("create", apps, "crates", "", roles...)
		check("create", content, "crates", "approve", roles...)
	}
	// The role goes with the kind.
	if err := w.Delete(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	w.until("the role goes", func() (bool, string) {
		err := w.Get(context.Background(), client.ObjectKey{Name: "yuba:application:crates"}, &rbacv1.ClusterRole{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func TestRightsToAnInstanceAreNoneToOtherStacks(t *testing.T) {
	w := newWorld(t)
	w.awaitDefinition(w.define("Sack", bucketYAML), appv1.ReasonServed)
	foreign := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "sack-taken"}, Spec: infrav1.TerraformSpec{Inline: map[string]string{"main.tf": ""}}}
	if err := w.Create(context.Background(), foreign); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"taken", "free"} {
		w.make("Sack", name, map[string]any{"bucketName": "a"})
	}
	w.await("Sack", "taken", appv1.PhaseFailed)
	w.await("Sack", "free", appv1.PhaseProgressing)
	stackOf := func(resource, name string) (*infrav1.Terraform, error) {
		return w.applications.Stack(context.Background(), resource, types.NamespacedName{Namespace: w.namespace, Name: name}, "")
	}
	if stack, err := stackOf("sacks", "free"); err != nil || stack.Name != "sack-free" {
		t.Errorf("the instance's own stack: %v, %v", stack, err)
	}
	for _, at := range [][2]string{{"sacks", "taken"}, {"sacks", "none"}, {"others", "free"}} {
		if stack, err := stackOf(at[0], at[1]); !apierrors.IsNotFound(err) {
			t.Errorf("%v: the stack is %v, the error %v", at, stack, err)
		}
	}
	// The name becomes free.
	if err := w.Delete(context.Background(), foreign); err != nil {
		t.Fatal(err)
	}
	w.stack("sack-taken", func(t *infrav1.Terraform) bool { return t.UID != foreign.UID && len(t.OwnerReferences) == 1 })
}

func TestTheFinalizerComesBack(t *testing.T) {
	w := newWorld(t)
	w.define("Cask", bucketYAML)
	w.make("Cask", "photos", map[string]any{"bucketName": "a"})
	w.apply("cask-photos", map[string]string{"endpoint": "a"}, "endpoint")
	w.await("Cask", "photos", appv1.PhaseReady)
	if _, err := w.resource("Cask").Patch(context.Background(), "photos", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("the instance is kept again", func() (bool, string) {
		o, _ := w.status("Cask", "photos")
		return len(o.GetFinalizers()) == 1, fmt.Sprint(o.GetFinalizers())
	})
}

// "yuba move" stops a stack at the home that it leaves. Its instance, which stays, does not start it again.
func TestAMovedStackIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.define("Chest", bucketYAML)
	w.make("Chest", "photos", map[string]any{"bucketName": "a"})
	w.apply("chest-photos", map[string]string{"endpoint": "a"}, "endpoint")
	w.await("Chest", "photos", appv1.PhaseReady)
	stack := w.stack("chest-photos")
	frozen := `{"metadata":{"annotations":{"yuba.dev/moved-to":"{\"move\":\"m\",\"home\":\"h\",\"name\":\"prod\"}"}},"spec":{"suspend":true,"destroyResourcesOnDeletion":false}}`
	if err := w.Patch(context.Background(), stack, client.RawPatch(types.MergePatchType, []byte(frozen))); err != nil {
		t.Fatal(err)
	}
	if _, message := w.await("Chest", "photos", appv1.PhasePending); message == "" {
		t.Error("the status says nothing")
	}
	// A change of the instance changes nothing either; the status shows that the pass is over.
	if _, err := w.resource("Chest").Patch(context.Background(), "photos", types.MergePatchType, []byte(`{"spec":{"bucketName":"b"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("Chest", "photos", appv1.PhasePending)
	if now := w.stack("chest-photos"); now.Generation != stack.Generation || now.Spec.DestroyResourcesOnDeletion || !now.Spec.Suspend {
		t.Errorf("the stack was written: %+v", now.Spec)
	}
	// It comes back, and its instance works again.
	if err := w.Patch(context.Background(), stack, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"yuba.dev/moved-to":null}},"spec":{"suspend":null}}`))); err != nil {
		t.Fatal(err)
	}
	w.stack("chest-photos", func(t *infrav1.Terraform) bool {
		return t.Spec.DestroyResourcesOnDeletion && string(t.Spec.Vars[0].Value.Raw) == `"b"`
	})
}

// At the home to which a stack has moved, its instance is applied later, and takes it over as it is.
func TestAnInstanceTakesOverItsMovedStack(t *testing.T) {
	w := newWorld(t)
	w.awaitDefinition(w.define("Trunk", bucketYAML), appv1.ReasonServed)
	labels := map[string]string{appv1.LabelKind: "Trunk", appv1.LabelGroup: appv1.InstanceVersion.Group, appv1.LabelName: "photos"}
	moved := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "trunk-photos", Labels: labels, Finalizers: []string{infrav1.Finalizer},
		Annotations: map[string]string{"yuba.dev/arriving-from": `{"move":"m","home":"h","name":"laptop"}`}}, Spec: infrav1.TerraformSpec{Inline: map[string]string{"main.tf": ""}, Suspend: true}}
	if err := w.Create(context.Background(), moved); err != nil {
		t.Fatal(err)
	}
	o := w.make("Trunk", "photos", map[string]any{"bucketName": "a"})
	if _, message := w.await("Trunk", "photos", appv1.PhasePending); !strings.Contains(message, "laptop") {
		t.Errorf("the message is %q", message)
	}
	if now := w.stack("trunk-photos"); now.Generation != moved.Generation || len(now.OwnerReferences) > 0 {
		t.Errorf("an arriving stack was written: %+v", now.ObjectMeta)
	}
	if err := w.Patch(context.Background(), moved, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"yuba.dev/arriving-from":null}},"spec":{"suspend":null}}`))); err != nil {
		t.Fatal(err)
	}
	now := w.stack("trunk-photos", func(t *infrav1.Terraform) bool { return len(t.OwnerReferences) == 1 && len(t.Spec.Vars) == 2 })
	if now.UID != moved.UID || now.OwnerReferences[0].UID != o.GetUID() {
		t.Errorf("the stack is %+v", now.ObjectMeta)
	}
}

func TestChangesDuringARestart(t *testing.T) {
	w := newWorld(t)
	unused, used := w.define("Vase", bucketYAML), w.define("Ewer", bucketYAML)
	w.awaitDefinition(unused, appv1.ReasonServed)
	w.make("Ewer", "photos", map[string]any{"bucketName": "a"})
	w.make("Ewer", "videos", map[string]any{"bucketName": "a"})
	w.stack("ewer-videos")
	w.stack("ewer-photos")
	w.restart(func() {
		if err := w.Delete(context.Background(), unused); err != nil {
			t.Fatal(err)
		}
		if err := w.resource("Ewer").Delete(context.Background(), "photos", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		patch := []byte(`{"spec":{"bucketName":"b"}}`)
		if _, err := w.resource("Ewer").Patch(context.Background(), "videos", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	w.until("the unused definition goes", func() (bool, string) {
		err := w.Get(context.Background(), client.ObjectKeyFromObject(unused), unused)
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %+v", err, unused.Status)
	})
	w.stack("ewer-photos", func(t *infrav1.Terraform) bool { return t.DeletionTimestamp != nil })
	w.stack("ewer-videos", func(t *infrav1.Terraform) bool { return string(t.Spec.Vars[0].Value.Raw) == `"b"` })
	w.awaitDefinition(used, appv1.ReasonServed)
	w.release(w.stack("ewer-photos"))
	w.gone("Ewer", "photos")
}

// restart stops the controllers, does something, and starts them again.
func (w *world) restart(meanwhile func()) {
	w.Helper()
	w.stop()
	meanwhile()
	w.applications, w.stop = controllers(w.TB)
}
