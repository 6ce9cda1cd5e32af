// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// somebodysLock is the id of another holder's lock.
const somebodysLock = "f2ab685b-f84d-ac0b-a125-378a22877e8d"

// lockedByID is the condition StateLocked while another holder has the lock.
const lockedByID = "True LockHeld: Terraform Locked with Lock Identifier: " + somebodysLock

// hold takes the lock of a stack's state, like the kubernetes backend of another tool.
func (w *world) hold(lease string) {
	w.Helper()
	w.patchLease(lease, func(l *coordinationv1.Lease) {
		id := somebodysLock
		l.Spec.HolderIdentity = &id
		l.Annotations = map[string]string{"app.terraform.io/lock-info": fmt.Sprintf(`{"ID":%q,"Operation":"OperationTypeApply","Info":"",`+
			`"Who":"somebody@elsewhere","Version":"1.9.0","Created":"2022-08-17T15:44:07.0Z","Path":""}`, id)}
	})
}

// access is a kubeconfig for the home's API without references to files.
func (w *world) access() string {
	w.Helper()
	config, err := clientcmd.LoadFromFile(w.kubeconfig)
	if err != nil {
		w.Fatal(err)
	}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		w.Fatal(err)
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// release releases the lock.
func (w *world) release(lease string) {
	w.Helper()
	w.patchLease(lease, func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity = nil
		delete(l.Annotations, "app.terraform.io/lock-info")
	})
}

func (w *world) patchLease(name string, mutate func(*coordinationv1.Lease)) {
	w.Helper()
	lease := &coordinationv1.Lease{}
	if err := w.client.Get(w.Context(), w.key(name), lease); err != nil {
		w.Fatal(err)
	}
	before := lease.DeepCopy()
	mutate(lease)
	if err := w.client.Patch(w.Context(), lease, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// locked creates and applies a stack, takes its lock, and waits until the stack reports that.
func (w *world) locked(manifest string) *infrav1.Terraform {
	w.Helper()
	w.git(first, greeter)
	w.stack("hello", "%s", manifest)
	w.await("hello", "it is applied", applied(firstPlan))
	w.hold("lock-tfstate-default-hello")
	w.git(second, greeter.and(more))
	return w.await("hello", "it says that its state is locked", tells("StateLocked", lockedByID))
}

var locks = []behaviour{
	// Upstream: another holder's lock is reported with its id. Fixed: Ready reports it, too, and
	// the stack continues automatically when the lock is released.
	{"000290_lock_identifier", func(w *world) {
		s := w.locked("approvePlan: auto")
		same(w, "pending lock", somebodysLock, s.Status.Lock.Pending)
		mentions(w, "Ready", told(s, "Ready"), somebodysLock, "somebody@elsewhere")
		w.release("lock-tfstate-default-hello")
		s = w.await("hello", "it continues", applied(secondPlan))
		same(w, "pending lock", "", s.Status.Lock.Pending)
	}},
	// Upstream: a lock that init finds is reported like any other. Here it is in a custom
	// kubernetes backend, which takes the lock to create the first state.
	{"000290_lock_at_the_first_init", func(w *world) {
		const lease = "lock-tfstate-default-own"
		w.create(secretOf("access", map[string]string{"config": w.access()}), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: lease}})
		w.hold(lease)
		w.git(first, greeter)
		w.stack("hello", `
approvePlan: auto
fileMappings: [{location: home, path: kubeconfig, secretRef: {name: access, key: config}}]
backendConfig:
  customConfiguration: |
    backend "kubernetes" {
      secret_suffix = "own"
      namespace     = "%s"
      config_path   = "~/kubeconfig"
    }`, w.namespace)
		s := w.await("hello", "it says that its state is locked", tells("StateLocked", lockedByID))
		same(w, "pending lock", somebodysLock, s.Status.Lock.Pending)
		mentions(w, "Ready", told(s, "Ready"), "False LockHeld: ", somebodysLock, "somebody@elsewhere")
		w.release(lease)
		s = w.await("hello", "it continues", applied(firstPlan))
		same(w, "pending lock", "", s.Status.Lock.Pending)
	}},
	// Upstream: "yes" breaks only the lock with the id.
	{"000290_force_unlock_yes", func(w *world) {
		w.locked("approvePlan: auto")
		w.edit("hello", "tfstate: {forceUnlock: 'yes', lockIdentifier: other}")
		w.await("hello", "it is still locked", tells("StateLocked", lockedByID))
		w.edit("hello", "tfstate: {forceUnlock: 'yes', lockIdentifier: %s}", somebodysLock)
		s := w.await("hello", "it continues", applied(secondPlan))
		same(w, "StateLocked", "False ForceUnlock: Terraform Force Unlock with Lock Identifier: "+somebodysLock, told(s, "StateLocked"))
		same(w, "lock", infrav1.LockStatus{LastApplied: somebodysLock}, s.Status.Lock)
	}},
	// Upstream: "auto" breaks any lock.
	{"000290_force_unlock_auto", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, tfstate: {forceUnlock: auto}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.hold("lock-tfstate-default-hello")
		w.git(second, greeter.and(more))
		s := w.await("hello", "it continues", applied(secondPlan))
		same(w, "StateLocked", "False ForceUnlock: Terraform Force Unlock with Lock Identifier: "+somebodysLock, told(s, "StateLocked"))
		same(w, "lock", infrav1.LockStatus{LastApplied: somebodysLock}, s.Status.Lock)
	}},
}
