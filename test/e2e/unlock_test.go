// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/test/cloud"
)

// lockState locks a stack's state, like plain tofu.
func (y *yuba) lockState(t *testing.T, obj *infrav1.Terraform, info state.LockInfo) {
	t.Helper()
	info.Created = time.Now().UTC()
	text, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.LeaseName(),
		Labels: map[string]string{"tfstate": "true"}}}
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, "app.terraform.io/lock-info", string(text))
	lease.Spec.HolderIdentity = &info.ID
	if lease.ResourceVersion == "" {
		err = y.client.Create(t.Context(), lease)
	} else {
		err = y.client.Update(t.Context(), lease)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (y *yuba) unlockState(t *testing.T, obj *infrav1.Terraform) {
	t.Helper()
	var lease coordinationv1.Lease
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: obj.Namespace, Name: obj.LeaseName()}, &lease); err != nil {
		t.Fatal(err)
	}
	lease.Spec.HolderIdentity = nil
	delete(lease.Annotations, "app.terraform.io/lock-info")
	if err := y.client.Update(t.Context(), &lease); err != nil {
		t.Fatal(err)
	}
}

func lockedBy(id string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		c := condition(o, infrav1.ConditionStateLocked)
		return failedWith(infrav1.ReasonLockHeld)(o) && o.Status.Lock.Pending == id &&
			c.Status == metav1.ConditionTrue && c.Message == "Terraform Locked with Lock Identifier: "+id
	}
}

// unlockedFrom: the stack is ready, and names the lock that was broken.
func unlockedFrom(id string) func(*infrav1.Terraform) bool {
	return func(o *infrav1.Terraform) bool {
		c := condition(o, infrav1.ConditionStateLocked)
		return ready(o) && o.Status.Lock.Pending == "" && o.Status.Lock.LastApplied == id && c.Status == metav1.ConditionFalse &&
			c.Reason == infrav1.ReasonForceUnlock && c.Message == "Terraform Force Unlock with Lock Identifier: "+id
	}
}

func forceUnlock(how infrav1.ForceUnlock, id string) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) {
		o.Spec.TFState = &infrav1.TFStateSpec{ForceUnlock: how, LockIdentifier: id}
	}
}

const theirLock = "3f2a6c1e-8f1d-4c7e-9d55-0a0b1c2d3e4f"

func TestLocksAreBrokenAsTheStackSays(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "locked", vpcHCL, auto, retryingHourly, forceUnlock(infrav1.ForceUnlockYes, "another"))
	y.lockState(t, obj, state.LockInfo{ID: theirLock, Operation: "OperationTypeApply", Who: "ci@build7"})
	y.create(t, obj)
	y.await(t, obj, "another lock than the one named is left alone", lockedBy(theirLock))
	change(t, y, obj, forceUnlock(infrav1.ForceUnlockYes, theirLock))
	y.await(t, obj, "the one named is broken", unlockedFrom(theirLock))
	unlocked(t, y, obj)
	y.awaitEvent(t, obj, "ForceUnlock", theirLock)

	// Any lock, if the stack says so.
	y.lockState(t, obj, state.LockInfo{ID: "second", Who: "ci@build8"})
	change(t, y, obj, func(o *infrav1.Terraform) {
		forceUnlock(infrav1.ForceUnlockAuto, "")(o)
		variable("cidr", "10.1.0.0/16")(o)
	})
	y.await(t, obj, "any lock is broken", unlockedFrom("second"))
	unlocked(t, y, obj)
}

func TestAReleasedLockStartsTheStackAtOnce(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "patient", vpcHCL, auto, retryingHourly)
	y.lockState(t, obj, state.LockInfo{ID: theirLock, Who: "ci@build7"})
	y.create(t, obj)
	y.await(t, obj, "it waits", lockedBy(theirLock))
	y.unlockState(t, obj)
	seen := y.await(t, obj, "it continues", ready)
	if c := condition(seen, infrav1.ConditionStateLocked); c.Type != "" || seen.Status.Lock.Pending != "" {
		t.Errorf("it still tells of the lock: %+v, pending %q", c, seen.Status.Lock.Pending)
	}
}

// Two stacks share a state. The lock of the active one is not broken, whatever the other says.
func TestTheLockOfARunAtWorkIsNeverBroken(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	shared := func(o *infrav1.Terraform) { o.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "shared"} }
	first := inline(ns, "first", gated, auto, shared)
	reached, open := y.gate(first)
	y.create(t, first)
	awaitFile(t, reached)
	working := y.await(t, first, "it applies", func(o *infrav1.Terraform) bool { return o.Status.CurrentRun != nil })
	second := inline(ns, "second", gated, auto, retryingHourly, shared, forceUnlock(infrav1.ForceUnlockAuto, ""))
	y.create(t, second)
	y.await(t, second, "it waits", lockedBy(working.Status.CurrentRun.ID))
	touch(t, open)
	y.await(t, first, "the first is ready", ready)
	seen := y.await(t, second, "then the second finds that there is nothing to do", ready)
	if seen.Status.Lock.LastApplied != "" || seen.Status.LastAppliedRevision != "" {
		t.Errorf("it broke %q and applied %q", seen.Status.Lock.LastApplied, seen.Status.LastAppliedRevision)
	}
	if n := y.resources(t, second); n != 3 {
		t.Errorf("%d resources are in the state, want 3", n)
	}
}

// Yuba releases a lock that a run of the stack left, as after a crash of the server or a restored
// backup.
func TestTheLockOfARunThatIsOverIsReleased(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "orphaned", vpcHCL, auto, retryingHourly)
	y.create(t, obj)
	id := y.await(t, obj, "it is ready", ready).Status.LastRun.ID
	y.lockState(t, obj, state.LockInfo{ID: id, Info: "yuba run " + id, Who: "yuba@gone"})
	change(t, y, obj, variable2("cidr", "10.2.0.0/16"))
	y.await(t, obj, "it continues", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastRun.ID != id })
	unlocked(t, y, obj)
	y.awaitEvent(t, obj, "LockOrphaned", id)
}

func variable2(name string, value any) func(*infrav1.Terraform) {
	return func(o *infrav1.Terraform) { o.Spec.Vars = nil; variable(name, value)(o) }
}

// In custom backends, the tool detects and breaks locks.
func TestTheLockOfAnOwnBackendIsBrokenAsTheStackSays(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c := cloud.Start()
	defer c.Close()
	address := c.StateAddress("own")
	obj := inline(ns, "own", vpcHCL, auto, retryingHourly, func(o *infrav1.Terraform) {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "http" {
  address        = "` + address + `"
  lock_address   = "` + address + `"
  unlock_address = "` + address + `"
}`}
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "TF_HTTP_USERNAME", Value: "yuba"}, corev1.EnvVar{Name: "TF_HTTP_PASSWORD", Value: c.Token()})
	})
	lockRemotely(t, c, address, theirLock)
	y.create(t, obj)
	seen := y.await(t, obj, "it meets the lock", lockedBy(theirLock))
	if m := condition(seen, infrav1.ConditionReady).Message; !containsAll(m, "ci@build7", "yuba force-unlock own -n "+ns+" "+theirLock) {
		t.Errorf("Ready does not tell who holds the lock and what to do: %s", m)
	}
	change(t, y, obj, forceUnlock(infrav1.ForceUnlockYes, "another"))
	before := y.await(t, obj, "another lock than the one named is left alone", lockedBy(theirLock))
	if before.Status.LastRun.ID != seen.Status.LastRun.ID || !c.StateLocked("own") {
		t.Errorf("run %s followed, locked: %v", before.Status.LastRun.ID, c.StateLocked("own"))
	}
	change(t, y, obj, forceUnlock(infrav1.ForceUnlockYes, theirLock))
	y.await(t, obj, "the one named is broken", unlockedFrom(theirLock))
	if c.StateLocked("own") {
		t.Error("the lock is still held")
	}
}

// lockRemotely takes the lock of a state in an http backend for another holder.
func lockRemotely(t *testing.T, c *cloud.Cloud, address, id string) {
	t.Helper()
	info, err := json.Marshal(state.LockInfo{ID: id, Operation: "OperationTypeApply", Who: "ci@build7", Created: time.Now().UTC()})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "LOCK", address, bytes.NewReader(info))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("yuba", c.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("lock %s: %s", address, resp.Status)
	}
}
