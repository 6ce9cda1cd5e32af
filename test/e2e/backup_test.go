// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// backup makes a backup of the running Yuba.
func (y *yuba) backup(t *testing.T) []byte {
	t.Helper()
	body, err := y.content(t).Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBackupIsRestoredWhileYubaRuns(t *testing.T) {
	y := alone(t)
	ns := y.namespace(t)
	kept := inline(ns, "kept", greeting, variable("name", "then"), auto, outputsTo("out"))
	y.create(t, kept)
	y.await(t, kept, "it is ready", ready)
	archive := y.backup(t)

	change(t, y, kept, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"now"`) })
	y.await(t, kept, "its change is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.StateSerial != nil && *o.Status.StateSerial == 2
	})
	if err := y.content(t).Restore(t.Context(), bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
	restored := y.await(t, kept, "it is as it was", func(o *infrav1.Terraform) bool {
		return ready(o) && *o.Status.StateSerial == 1 && string(o.Spec.Vars[0].Value.Raw) == `"then"`
	})
	if got := string(y.secret(t, ns, "out")["greeting"]); got != "hello then" {
		t.Errorf("the output is %q", got)
	}
	change(t, y, restored, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"again"`) })
	y.await(t, kept, "the restored Yuba works", func(o *infrav1.Terraform) bool {
		return ready(o) && string(y.secret(t, ns, "out")["greeting"]) == "hello again"
	})
}

// etcd is lost, the blob store is not: a new Yuba with the same stacks detects that their states
// existed, and restores stored versions.
func TestStateIsRecoveredFromTheBlobStoreWhenEtcdIsLost(t *testing.T) {
	y := alone(t)
	ns := y.namespace(t)
	obj := inline(ns, "survivor", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	id := firstID(t, y.state(t, obj))
	if err := y.terminate(); err != nil {
		t.Fatal(err)
	}
	removeAll(t, y.dir+"/etcd")
	if err := y.start(); err == nil || !strings.Contains(err.Error(), "--accept-loss objects") {
		t.Fatalf("without its objects it started, or did not say what to do: %v", err)
	}
	y.args = append(y.args, "--accept-loss", "objects")
	y.restart(t)

	again := inline(ns, "survivor", greeting, variable("name", "x"), auto)
	y.create(t, namespaceObject(ns), again)
	y.await(t, again, "it says that its state existed", func(o *infrav1.Terraform) bool {
		return settled(o) && o.Status.LastRun != nil && o.Status.LastRun.Status == "failed"
	})
	versions, err := y.content(t).Versions(t.Context(), ns, "survivor")
	if err != nil || len(versions.Items) == 0 {
		t.Fatalf("versions: %v %v", versions, err)
	}
	y.rollback(t, again, versions.Items[0].ID)
	seen := y.await(t, again, "it is ready", ready)
	if seen.Status.Plan.Summary != "+0 ~0 -0" || firstID(t, y.state(t, again)) != id {
		t.Errorf("the recovered stack planned %s", seen.Status.Plan.Summary)
	}
}

// rollback waits until no run is active.
func (y *yuba) rollback(t *testing.T, obj *infrav1.Terraform, version string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if _, err = y.content(t).Rollback(ctx, obj.Namespace, obj.Name, version); err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal(err)
}
