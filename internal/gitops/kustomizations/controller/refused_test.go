// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deployer makes a service account with these verbs on the namespace's ConfigMaps.
func (w *world) deployer(verbs ...string) {
	w.t.Helper()
	name := metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"}
	w.must(w.c.Create(w.t.Context(), &corev1.ServiceAccount{ObjectMeta: name}))
	w.must(w.c.Create(w.t.Context(), &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"rolebindings"}, Verbs: []string{"create", "patch"}}}}))
	w.must(w.c.Create(w.t.Context(), &rbacv1.RoleBinding{ObjectMeta: name,
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "deployer"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "deployer", Namespace: w.namespace}}}))
}

func asDeployer(s *kustomizev1.KustomizationSpec) { s.ServiceAccountName = "deployer" }

const masterBinding = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: master, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: deployer, namespace: NAMESPACE}]
---
`

// An object that the API refused does not block a deletion.
func TestWhatWasRefusedCanBeDeleted(t *testing.T) {
	for sentence, manifests := range map[string]string{
		"an object of another namespace":                 strings.ReplaceAll(configMap("one", "1"), "NAMESPACE", "default"),
		"a binding of more rights than one has":          masterBinding,
		"both, after an object that was applied":         configMap("good", "1") + masterBinding + strings.ReplaceAll(configMap("one", "1"), "NAMESPACE", "default"),
		"an object of a namespace that there is not":     strings.ReplaceAll(configMap("one", "1"), "NAMESPACE", "nowhere"),
		"an object of a cluster that one may not touch ": "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: of-nobody}\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.deployer("get", "create", "patch", "delete")
			w.publish("src", "main@sha1:1", map[string]string{"a.yaml": manifests})
			w.kustomization("app", asDeployer)
			w.failing("app", meta.ReconciliationFailedReason)
			if ids := entriesOf(w.get("app")); len(ids) > 1 {
				t.Errorf("the inventory has objects that were never created: %v", ids)
			}
			w.must(w.c.Delete(t.Context(), w.get("app")))
			w.leaves("app")
		})
	}
}

// A crash right before an apply leaves all its objects in the inventory.
func TestWhatACrashLeftInTheInventoryHoldsUpNoDeletion(t *testing.T) {
	w := newWorld(t)
	w.deployer("get", "create", "patch", "delete")
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("good", "1")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { asDeployer(s); s.Suspend = true })
	k := w.get("app")
	before := k.DeepCopy()
	k.Status.Inventory = &kustomizev1.ResourceInventory{Entries: []kustomizev1.ResourceRef{
		{ID: "default_one__ConfigMap", Version: "v1"}, {ID: w.namespace + "_master_rbac.authorization.k8s.io_RoleBinding", Version: "v1"}}}
	w.must(w.c.Status().Patch(t.Context(), k, client.MergeFrom(before)))
	w.update("app", func(k *kustomizev1.Kustomization) { k.Spec.Suspend = false; k.Spec.SourceRef.Name = "nowhere" })
	w.must(w.c.Delete(t.Context(), w.get("app")))
	w.leaves("app")
}

// An applied object that may not be removed is reported, with the way to delete the Kustomization.
func TestADeletionWithoutTheRightsSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	w.deployer("get", "create", "patch")
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		asDeployer(s)
		s.RetryInterval = &metav1.Duration{Duration: 200 * time.Millisecond}
	})
	w.ready("app", "main@sha1:1")
	w.must(w.c.Delete(t.Context(), w.get("app")))
	message := w.failing("app", meta.PruneFailedReason)
	for _, want := range []string{"pruning for deleted resource failed: ConfigMap/" + w.namespace + "/one delete failed", "deletionPolicy", "Orphan"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	w.update("app", func(k *kustomizev1.Kustomization) { k.Spec.DeletionPolicy = kustomizev1.DeletionPolicyOrphan })
	w.leaves("app")
	if w.configMap("one") == nil {
		t.Error("the object is gone")
	}
}
