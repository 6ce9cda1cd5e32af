// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// somebodysLock is the id of a lock that somebody else holds.
const somebodysLock = "f2ab685b-f84d-ac0b-a125-378a22877e8d"

// lockedByID is what the condition StateLocked says while somebody holds the lock.
const lockedByID = "True LockHeld: Terraform Locked with Lock Identifier: " + somebodysLock

// hold takes the lock of a stack's state, as the kubernetes backend of somebody's tool would.
func (w *world) hold(lease string) {
	w.Helper()
	w.patchLease(lease, func(l *coordinationv1.Lease) {
		id := somebodysLock
		l.Spec.HolderIdentity = &id
		l.Annotations = map[string]string{"app.terraform.io/lock-info": fmt.Sprintf(`{"ID":%q,"Operation":"OperationTypeApply","Info":"",`+
			`"Who":"somebody@elsewhere","Version":"1.9.0","Created":"2022-08-17T15:44:07.0Z","Path":""}`, id)}
	})
}

// release gives the lock back.
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

// locked makes an applied stack whose lock somebody else has taken since, and returns it as soon as it says so.
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
	// Upstream: somebody's lock is reported with its id. Cured: Ready says so, too, and the stack goes on by itself when the
	// lock is released.
	{"000290_lock_identifier", func(w *world) {
		s := w.locked("approvePlan: auto")
		same(w, "pending lock", somebodysLock, s.Status.Lock.Pending)
		mentions(w, "Ready", told(s, "Ready"), somebodysLock, "somebody@elsewhere")
		w.release("lock-tfstate-default-hello")
		s = w.await("hello", "it goes on", applied(secondPlan))
		same(w, "pending lock", "", s.Status.Lock.Pending)
	}},
	// Upstream: "yes" breaks the lock with the id, and no other one.
	{"000290_force_unlock_yes", func(w *world) {
		w.locked("approvePlan: auto")
		w.edit("hello", "tfstate: {forceUnlock: 'yes', lockIdentifier: other}")
		w.await("hello", "it is still locked", tells("StateLocked", lockedByID))
		w.edit("hello", "tfstate: {forceUnlock: 'yes', lockIdentifier: %s}", somebodysLock)
		s := w.await("hello", "it goes on", applied(secondPlan))
		same(w, "StateLocked", "False ForceUnlock: Terraform Force Unlock with Lock Identifier: "+somebodysLock, told(s, "StateLocked"))
		same(w, "lock", infrav1.LockStatus{LastApplied: somebodysLock}, s.Status.Lock)
	}},
	// Upstream: "auto" breaks whatever lock there is.
	{"000290_force_unlock_auto", func(w *world) {
		w.git(first, greeter)
		w.stack("hello", "{approvePlan: auto, tfstate: {forceUnlock: auto}}")
		w.await("hello", "it is applied", applied(firstPlan))
		w.hold("lock-tfstate-default-hello")
		w.git(second, greeter.and(more))
		s := w.await("hello", "it goes on", applied(secondPlan))
		same(w, "StateLocked", "False ForceUnlock: Terraform Force Unlock with Lock Identifier: "+somebodysLock, told(s, "StateLocked"))
		same(w, "lock", infrav1.LockStatus{LastApplied: somebodysLock}, s.Status.Lock)
	}},
}
