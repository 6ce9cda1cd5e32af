// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// keyPair is a recipient with its identity in a file.
func keyPair(t *testing.T) (recipient, file string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(file, []byte(identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return identity.Recipient().String(), file
}

// A stack is archived at one home and restored at another, which has its state, versions and runs then.
func TestArchiveAndRestoreElsewhere(t *testing.T) {
	t.Parallel()
	m := newMovers(t)
	const ns = "kept"
	id, runs := m.small(t, ns)
	recipient, key := keyPair(t)
	file := filepath.Join(t.TempDir(), "kept.archive")
	out, _ := m.a.do(t, "archive", "--all", "-n", ns, "--to", file, "-r", recipient, "--versions", "-o", "json")
	var written struct{ Signer string }
	if err := json.Unmarshal([]byte(out), &written); err != nil || written.Signer == "" {
		t.Fatalf("%v\n%s", err, out)
	}
	// It is verified without a server and without an identity.
	if out, _ := m.b.do(t, "archive", "verify", file, "--signer", written.Signer); !strings.Contains(out, "intact and signed by "+written.Signer) {
		t.Errorf("verify says: %s", out)
	}
	if _, news, code := m.b.run(t, "archive", "verify", file, "--signer", "SHA256:other"); code == 0 || !strings.Contains(news, "Do not trust it") {
		t.Errorf("another signer: %d %s", code, news)
	}
	_, other := keyPair(t)
	if _, news, code := m.b.run(t, "archive", "show", file, "-i", other); code == 0 || !strings.Contains(news, "none of the identities") {
		t.Errorf("another identity: %d %s", code, news)
	}
	m.b.do(t, "archive", "restore", file, "-i", key, "--signer", written.Signer, "--yes")
	base := m.b.stack(t, ns, "base")
	if got := firstID(t, m.b.state(t, base)); got != id || !base.Spec.Suspend {
		t.Errorf("restored %s, suspended %v, want %s", got, base.Spec.Suspend, id)
	}
	restored := m.b.runIDs(t, ns, "base")
	for _, run := range runs {
		if !strings.Contains(strings.Join(restored, " "), run) {
			t.Errorf("run %s is missing: %v", run, restored)
		}
	}
	if len(restored) != len(runs)+1 {
		t.Errorf("the restore is not one recorded run: %v, had %v", restored, runs)
	}
	// Again, nothing is left to do.
	m.b.do(t, "archive", "restore", file, "-i", key, "--signer", written.Signer, "--yes")
	if again := m.b.runIDs(t, ns, "base"); len(again) != len(restored) {
		t.Errorf("the second restore ran: %v", again)
	}
}

// A newer state, another lineage or a working stack is never replaced, and damage changes nothing.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	y, ns := readyForHandover(t)
	obj, _ := y.owned(t, ns, "vpc")
	recipient, key := keyPair(t)
	file := filepath.Join(t.TempDir(), "a.archive")
	y.do(t, "archive", name(obj), "--to", file, "-r", recipient)
	refuses := func(when, file, want string) {
		t.Helper()
		before := y.state(t, obj)
		if _, news, code := y.run(t, "archive", "restore", file, "-i", key, "--unsigned", "--yes"); code == 0 || !strings.Contains(news, want) {
			t.Errorf("%s: %d %s", when, code, news)
		}
		if !bytes.Equal(y.state(t, obj), before) {
			t.Errorf("%s: the state was changed", when)
		}
	}
	refuses("a stack that works", file, "it is not suspended")
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Vars = nil; variable("name", "again")(o) })
	y.await(t, obj, "it is applied again", func(o *infrav1.Terraform) bool { return ready(o) && *o.Status.StateSerial > 1 })
	y.do(t, "suspend", name(obj))
	refuses("a newer state", file, "its state is newer")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-2000] ^= 1
	damaged := filepath.Join(t.TempDir(), "damaged")
	if err := os.WriteFile(damaged, data, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses("a damaged archive", damaged, "content.tar.age is damaged")
	y.do(t, "state", "drop", name(obj), "--yes")
	if _, news, code := y.run(t, "archive", name(obj), "--to", file, "-r", recipient); code == 0 || !strings.Contains(news, "written once") {
		t.Errorf("an archive was replaced: %d %s", code, news)
	}
}

// Credentials are deleted only after the archive was verified, and proven gone.
func TestWipedCredentials(t *testing.T) {
	t.Parallel()
	y, ns := readyForHandover(t)
	y.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "token"}, StringData: map[string]string{"name": "hunter2"}})
	obj := pushed(ns, "vpc", "code", auto, func(o *infrav1.Terraform) {
		o.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: "token"}}
	})
	y.create(t, obj)
	y.await(t, obj, "it is applied", ready)
	recipient, key := keyPair(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.archive")
	gone := func() bool {
		err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "token"}, &corev1.Secret{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err != nil
	}
	if _, news, code := y.run(t, "archive", name(obj), "--to", filepath.Join(dir, "missing", "a"), "-r", recipient, "--wipe-credentials", "owners/token", "--yes"); code == 0 || gone() {
		t.Fatalf("without an archive: %d %s", code, news)
	}
	out, news := y.do(t, "archive", name(obj), "--to", file, "-r", recipient, "--inputs", "--wipe-credentials", "owners/token", "--yes", "-o", "json")
	var written struct {
		Wiped []struct {
			Name         string
			Gone         bool
			ReferencedBy []string
		}
	}
	if err := json.Unmarshal([]byte(out), &written); err != nil || len(written.Wiped) != 1 || !written.Wiped[0].Gone || len(written.Wiped[0].ReferencedBy) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	if !gone() || !strings.Contains(news, "Terraform vpc") || strings.Contains(out+news, "hunter2") {
		t.Errorf("gone %v: %s", gone(), news)
	}
	out, _ = y.do(t, "archive", "show", file, "-i", key, "-o", "json")
	if !strings.Contains(out, "objects/owners/Secret/token.yaml") {
		t.Errorf("the archive lacks the input: %s", out)
	}
}
