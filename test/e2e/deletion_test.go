// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// resources counts the resources in the state of a stack.
func (y *yuba) resources(t *testing.T, obj *infrav1.Terraform) int {
	t.Helper()
	var state struct{ Resources []json.RawMessage }
	if err := json.Unmarshal(y.state(t, obj), &state); err != nil {
		t.Fatal(err)
	}
	return len(state.Resources)
}

func TestDeletionDestroysAlthoughItsInputsAreGone(t *testing.T) {
	y, ns := common(t)
	cm := configMap(ns, "settings", map[string]string{"name": "x"})
	secret := secretOf(ns, "token", map[string]string{"token": "hunter2hunter2"})
	hcl := greeting + "\nvariable \"token\" {\n type = string\n sensitive = true\n}\n"
	obj := inline(ns, "inputless", hcl, varsFrom("ConfigMap", "settings"), varsFrom("Secret", "token"), auto, destroying)
	y.create(t, cm, secret, obj)
	y.await(t, obj, "it is ready", ready)
	y.delete(t, cm)
	y.delete(t, secret)
	y.await(t, obj, "it misses its inputs", failedWith(infrav1.ReasonVarsGenerationFailed))
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if n := y.resources(t, obj); n != 0 {
		t.Errorf("%d resources are left", n)
	}
}

func TestDeletionDestroysAlthoughTheWholeSourceIsGone(t *testing.T) {
	y, ns := common(t)
	artifact := y.push(t, ns, "program", map[string]string{"main.tf": greeting})
	obj := pushed(ns, "sourceless", "program", variable("name", "x"), auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	y.delete(t, artifact)
	y.await(t, obj, "it misses its source", failedWith(infrav1.ReasonArtifactFailed))
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if n := y.resources(t, obj); n != 0 {
		t.Errorf("%d resources are left", n)
	}
}

func TestDeletionWithoutDestroyKeepsEverything(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "kept", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if n := y.resources(t, obj); n != 1 {
		t.Errorf("%d resources are in the state, want 1", n)
	}
}

func TestDeletionOfWhatNeverWasPlannedNeedsNothing(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "never", `this is not HCL`, auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is refused", failedWith(infrav1.ReasonInitFailed))
	y.delete(t, obj)
	y.awaitGone(t, obj)
}

func TestDeletedNamespaceGoesWithItsStacks(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "housed", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	y.delete(t, namespaceObject(ns))
	y.awaitGone(t, obj)
}

func TestWorkingDirectoryGoesWithItsStack(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "tidy", greeting, variable("name", "x"), auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	dir := filepath.Join(y.dir, "work", ns, "tidy")
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	y.delete(t, obj)
	y.awaitGone(t, obj)
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s is still there", dir)
}

// Deleting a namespace deletes its Secrets and ConfigMaps before its stacks have destroyed their
// resources.
func TestDeletedNamespaceGoesAfterItsStacksDestroyed(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "housed", greeting, varsFrom("ConfigMap", "settings"), auto, destroying, outputsTo("out"))
	y.create(t, configMap(ns, "settings", map[string]string{"name": "x"}), obj)
	y.await(t, obj, "it is ready", ready)
	y.delete(t, namespaceObject(ns))
	y.awaitGone(t, obj)
	outcome := y.lastState(t, ns, "tfstate-default-housed")
	if n := len(outcome.Resources); n != 0 {
		t.Errorf("%d resources are left", n)
	}
}

// The last state of a destroyed stack is empty, so its loss must not block a new stack, although a
// lost state otherwise does.
func TestDestroyedStackMayComeBackWithoutItsStateSecret(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "phoenix", greeting, variable("name", "x"), auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	y.delete(t, obj)
	y.awaitGone(t, obj)
	y.delete(t, secretOf(ns, "tfstate-default-phoenix", nil))
	again := inline(ns, "phoenix", greeting, variable("name", "x"), auto)
	y.create(t, again)
	y.await(t, again, "it is ready", ready)
	if n := y.resources(t, again); n != 1 {
		t.Errorf("%d resources are in the state, want 1", n)
	}
}

// If somebody deleted the state, Yuba does not know what to destroy, and a person has to decide.
func TestDeletionOfAStackWhoseStateIsGoneSaysWhatToDo(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, in := cloudy(t, y, ns)
	stateless := func(name string) (*infrav1.Terraform, string) {
		obj := inline(ns, name, providerHCL+objectHCL(name, "1"), in, auto, destroying)
		y.create(t, obj)
		y.await(t, obj, "it is ready", ready)
		y.delete(t, secretOf(ns, stateSecret(obj), nil))
		y.delete(t, obj)
		seen := y.await(t, obj, "it waits for a person", func(o *infrav1.Terraform) bool {
			return condition(o, infrav1.ConditionReady).Reason == infrav1.ReasonStateMissing && settled(o)
		})
		message := condition(seen, infrav1.ConditionReady).Message
		if strings.Contains(message, "created a second time") || !strings.HasPrefix(message, "destroy what "+ns+"/"+name+" manages: Secret "+ns+"/"+stateSecret(obj)+" is gone") {
			t.Errorf("%s: %s", name, message)
		}
		return obj, message
	}
	t.Run("bring the state back, and all of it is destroyed", func(t *testing.T) {
		t.Parallel()
		obj, message := stateless("back")
		_, rest, _ := strings.Cut(message, "    yuba state rollback ")
		words, _, _ := strings.Cut(rest, "\n")
		if out, news, code := y.run(t, append(append([]string{"state", "rollback"}, strings.Fields(words)...), "--yes")...); code != 0 {
			t.Fatalf("%d %s %s", code, out, news)
		}
		y.awaitGone(t, obj)
		if names := c.Names("back"); len(names) != 0 {
			t.Errorf("left in the cloud: %v", names)
		}
	})
	t.Run("let it go, and its resources stay", func(t *testing.T) {
		t.Parallel()
		obj, message := stateless("go")
		if !strings.Contains(message, `yuba kubectl -n `+ns+` patch tf go --type=merge -p '{"spec":{"destroyResourcesOnDeletion":false}}'`) {
			t.Errorf("no way to let it go: %s", message)
		}
		change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.DestroyResourcesOnDeletion = false })
		y.awaitGone(t, obj)
		if names := c.Names("go"); len(names) != 1 {
			t.Errorf("in the cloud: %v", names)
		}
	})
}
