// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package homes_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/pdnstest"
)

// yuba runs a command.
func (w *world) yuba(args ...string) {
	w.Helper()
	if out, err := exec.Command(filepath.Join(programs, "yuba"), args...).CombinedOutput(); err != nil {
		w.Fatalf("yuba %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// A home and the home that was restored from its backup run both: they have the same claims, with the same UIDs. Only one of them
// writes a name, and people decide which one.
func TestAHomeAndItsBackupNeverShareAName(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "yuba.tar")
	w := &world{T: t, a: newHome(t, t.TempDir()), pdns: pdnstest.Start(t, []string{"example.org"})}
	w.b = w.a // for the logs
	w.names(w.a, "team")
	w.belongs(w.a, "team", "acme")
	w.yuba("backup", file, "--kubeconfig", w.a.kubeconfig())
	w.yuba("restore", file, "--data-dir", dir, "--yes")
	w.b = newHome(t, dir)
	a, b := &yubav1.SubdomainClaim{ObjectMeta: meta("team", "acme")}, &yubav1.SubdomainClaim{ObjectMeta: meta("team", "acme")}
	// While they want the same, both have the name.
	w.belongs(w.a, "team", "acme")
	w.belongs(w.b, "team", "acme")
	w.await(w.a, a, yubav1.ReasonClaimCommitted)
	w.await(w.b, b, yubav1.ReasonClaimCommitted)
	if a.UID != b.UID {
		t.Fatalf("the claims have the UIDs %s and %s", a.UID, b.UID)
	}
	const name = "acme.apps.example.org"
	w.becomes(w.a, a, "192.0.2.5")
	w.await(w.b, b, yubav1.ReasonRecordOwned)
	w.await(w.a, a, yubav1.ReasonClaimCommitted)
	w.repairs(name, "A", "203.0.113.7", "192.0.2.5")
	// As the condition says, of the write that repaired the record.
	w.yuba(append(w.takesOver(b, name), "--kubeconfig", w.b.kubeconfig())...)
	w.await(w.b, b, yubav1.ReasonClaimCommitted)
	w.await(w.a, a, yubav1.ReasonRecordOwned)
	if is := w.has(name, "A"); is != "192.0.2.1" {
		t.Errorf("after it was taken over, the record is %s", is)
	}
	// The copy goes, and leaves the name alone.
	if err := w.a.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.eventually("the copy is gone", func() string {
		if w.a.Get(t.Context(), client.ObjectKeyFromObject(a), a) == nil {
			return "it is there"
		}
		return ""
	})
	if is := w.has(name, "A"); is != "192.0.2.1" {
		t.Errorf("after the copy was deleted, the record is %q", is)
	}
	w.belongs(w.b, "team", "acme")
}

// takesOver is the command of the condition that takes the name from the copy, once it is of the copy's last write.
func (w *world) takesOver(b *yubav1.SubdomainClaim, name string) (command []string) {
	w.Helper()
	w.eventually("the condition tells the last write of the copy", func() string {
		if err := w.b.Get(w.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		says, registered := conditions.Of(b, infrav1.ConditionReady).Message, w.has("_yuba."+name, "TXT")
		_, text, _ := strings.Cut(says, "\n    yuba ")
		_, write, found := strings.Cut(text, yubav1.AnnotationTakeOverWrite+"=")
		if !found || !strings.Contains(registered, "write="+write) {
			return says + ", registered is " + registered
		}
		command = strings.Fields(text)
		return ""
	})
	return command
}

// becomes changes the address of a claim, and waits until the name has it.
func (w *world) becomes(h *home, c *yubav1.SubdomainClaim, address string) {
	w.Helper()
	before := c.DeepCopy()
	c.Spec.Addresses = []string{address}
	if err := h.Patch(w.Context(), c, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
	w.eventually("the name has another address", func() string {
		if is := w.has(c.Status.Domain, "A"); is != address {
			return is
		}
		return ""
	})
}
