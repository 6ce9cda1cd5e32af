// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// fixture is a Store over the real API with a namespace, and a directory of blobs, of its own.
type fixture struct {
	t testing.TB
	*Store
	key     Key
	stored  *blob.Store
	blobDir string
	keyFile string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{t: t, blobDir: filepath.Join(dir, "blobs"), keyFile: filepath.Join(dir, "keys", "blob.agekey")}
	var identity *age.X25519Identity
	identity, err := blob.LoadOrCreateKey(f.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+f.blobDir, identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	f.stored, f.Store = blobs, New(apitest.Client(t), blobs)
	f.key = Key{Namespace: apitest.Namespace(t), Suffix: "vpc"}
	return f
}

// faulty replaces the client by one with faults.
func (f *fixture) faulty(faults interceptor.Funcs) {
	f.client = interceptor.NewClient(apitest.Client(f.t), faults)
}

// aState is a state with a serial and something to tell it from others.
func aState(serial int, content string) []byte {
	return fmt.Appendf(nil, "{\n  \"version\": 4,\n  \"terraform_version\": \"1.12.6\",\n  \"serial\": %d,\n  \"lineage\": \"line\",\n"+
		"  \"outputs\": {\n    \"content\": {\n      \"value\": %q,\n      \"type\": \"string\"\n    }\n  },\n  \"resources\": [],\n"+
		"  \"check_results\": null\n}\n", serial, content)
}

func markOf(serial uint64, data []byte) Mark {
	return Mark{Serial: serial, Lineage: "line", Digest: statefile.Digest(data)}
}

// write writes a state as a run does.
func (f *fixture) write(run string, previous Mark, data []byte) Version {
	f.t.Helper()
	version, err := f.Write(f.t.Context(), f.key, WriteRequest{Data: data, Previous: previous, RunID: run, Reason: "apply"})
	if err != nil {
		f.t.Fatal(err)
	}
	return version
}

func (f *fixture) wantState(data []byte) {
	f.t.Helper()
	snapshot, err := f.Read(f.t.Context(), f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(snapshot.Data)); diff != "" {
		f.t.Errorf("the state (-want +got):\n%s", diff)
	}
}

// wantHistory compares serial and reason (or run) of the stored versions, newest first.
func (f *fixture) wantHistory(want ...string) {
	f.t.Helper()
	var got []string
	for version, err := range f.Versions(f.t.Context(), f.key) {
		line := fmt.Sprintf("%d %s", version.Serial, version.RunID)
		if version.RunID == "" {
			line = fmt.Sprintf("%d %s", version.Serial, version.Reason)
		}
		if err != nil {
			line += ": " + err.Error()
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("history (-want +got):\n%s", diff)
	}
}

func (f *fixture) secret() *corev1.Secret {
	f.t.Helper()
	secret, err := f.getSecret(f.t.Context(), f.key)
	if err != nil || secret == nil {
		f.t.Fatalf("get the state Secret: %v, %v", secret, err)
	}
	return secret
}

// meddle puts bytes into the Secret, as others than Yuba do.
func (f *fixture) meddle(data map[string][]byte) {
	f.t.Helper()
	ctx, c := context.Background(), apitest.Client(f.t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: f.key.SecretName()}}
	err := c.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	secret.Data = data
	if err != nil {
		err = c.Create(ctx, secret)
	} else {
		err = c.Update(ctx, secret)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) deleteSecret() {
	f.t.Helper()
	if err := apitest.Client(f.t).Delete(context.Background(), f.secret()); err != nil {
		f.t.Fatal(err)
	}
}

func packed(t testing.TB, data []byte) map[string][]byte {
	t.Helper()
	text, err := compress(data, gzip.Header{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{dataKey: text}
}

func TestNoStateIsSaidWhenNoneHasEverBeenThere(t *testing.T) {
	f := newFixture(t)
	got, err := f.Read(t.Context(), f.key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Snapshot{}, got); diff != "" {
		t.Error(diff)
	}
	f.meddle(nil) // OpenTofu makes the Secret before it puts the state in
	got, err = f.Read(t.Context(), f.key)
	if err != nil || got.Data != nil || got.ResourceVersion == "" {
		t.Errorf("of an empty Secret: %+v, %v", got, err)
	}
}

func TestAReadStateIsDescribed(t *testing.T) {
	f := newFixture(t)
	data := aState(3, "a")
	f.meddle(packed(t, data))
	got, err := f.Read(t.Context(), f.key, ExpectExisting())
	if err != nil {
		t.Fatal(err)
	}
	want := &Snapshot{Data: data, Serial: 3, Lineage: "line", Digest: statefile.Digest(data), ResourceVersion: f.secret().ResourceVersion}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(markOf(3, data), got.Mark()); diff != "" {
		t.Error(diff)
	}
}

// withResource gives a state something to lose.
func withResource(data []byte) []byte {
	return bytes.Replace(data, []byte(`"resources": []`), []byte(`"resources": [{"mode":"managed","type":"terraform_data","name":"a",`+
		`"provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"1"}}]}]`), 1)
}

func TestAnEmptyStateThatVanishedIsGoneOnFrom(t *testing.T) {
	f := newFixture(t)
	data := aState(7, "a")
	f.write("run", Mark{}, data)
	f.deleteSecret()
	got, err := f.Read(t.Context(), f.key, ExpectExisting())
	if err != nil || got.Serial != 7 || !bytes.Equal(got.Data, data) {
		t.Fatalf("got %+v, %v; want the state with serial 7", got, err)
	}
	f.write("next", got.Mark(), aState(8, "b"))
	if got, err := f.Read(t.Context(), f.key); err != nil || got.Serial != 8 || got.ResourceVersion == "" {
		t.Errorf("after the next write: %+v, %v", got, err)
	}
}

func TestAStateThatVanishedIsNotNoState(t *testing.T) {
	t.Run("the Secret is gone, versions are stored", func(t *testing.T) {
		f := newFixture(t)
		stored := f.write("run", Mark{}, withResource(aState(1, "a")))
		f.deleteSecret()
		f.wantVanished(&VanishedError{Key: f.key, Newest: &stored}, "yuba state rollback "+f.key.Namespace+"/vpc "+stored.ID)
	})
	t.Run("the Secret was emptied, versions are stored", func(t *testing.T) {
		f := newFixture(t)
		stored := f.write("run", Mark{}, aState(1, "a"))
		f.meddle(map[string][]byte{"other": nil})
		f.wantVanished(&VanishedError{Key: f.key, Newest: &stored, Emptied: true}, "no longer contains a state")
	})
	t.Run("the stack was applied before, nothing is stored", func(t *testing.T) {
		f := newFixture(t)
		f.wantVanished(&VanishedError{Key: f.key}, "Restore the Secret from a backup", ExpectExisting())
	})
}

func (f *fixture) wantVanished(want *VanishedError, message string, options ...ReadOption) {
	f.t.Helper()
	_, err := f.Read(f.t.Context(), f.key, options...)
	var got *VanishedError
	if !errors.As(err, &got) {
		f.t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Error(diff)
	}
	if !strings.Contains(err.Error(), message) {
		f.t.Errorf("the message lacks %q:\n%v", message, err)
	}
}

func TestWhatIsNotAStateIsNeverOverwritten(t *testing.T) {
	for name, content := range map[string]map[string][]byte{
		"not gzip":             {dataKey: []byte("hunter2")},
		"empty":                {dataKey: {}},
		"gzip, cut":            {dataKey: packed(t, aState(1, "a"))[dataKey][:40]},
		"gzip of no JSON":      packed(t, []byte("hunter2")),
		"gzip of nothing":      packed(t, nil),
		"JSON of no state":     packed(t, []byte(`{"hunter2":true}`)),
		"pointer to nothing":   {dataKey: []byte(pointerNote)},
		"an old state version": packed(t, []byte(`{"version":3,"serial":1}`)),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.meddle(content)
			before := f.secret()
			_, readErr := f.Read(t.Context(), f.key)
			_, writeErr := f.Write(t.Context(), f.key, WriteRequest{Data: aState(2, "b"), RunID: "run"})
			for action, err := range map[string]error{"read": readErr, "write": writeErr} {
				var corrupt *CorruptError
				if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "yuba state rollback") {
					t.Errorf("%s: %v", action, err)
				}
				if err != nil && strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s: the error quotes the content: %v", action, err)
				}
			}
			if diff := cmp.Diff(before, f.secret()); diff != "" {
				t.Errorf("the Secret was changed:\n%s", diff)
			}
			f.wantHistory("2 run") // what the run wrote is kept all the same
		})
	}
}

func TestKeysThatKubernetesCannotKeepAreRefused(t *testing.T) {
	f := newFixture(t)
	for name, key := range map[string]Key{
		"no suffix":         {Namespace: "ns"},
		"no namespace":      {Suffix: "vpc"},
		"upper case":        {Namespace: "ns", Suffix: "VPC"},
		"workspace":         {Namespace: "ns", Suffix: "vpc", Workspace: "a/b"},
		"long suffix":       {Namespace: "ns", Suffix: strings.Repeat("x", 64)},
		"leaving the store": {Namespace: "../other", Suffix: "vpc"},
	} {
		if _, err := f.Read(t.Context(), key); err == nil {
			t.Errorf("%s: read", name)
		}
		if _, err := f.Write(t.Context(), key, WriteRequest{Data: aState(1, "a")}); err == nil {
			t.Errorf("%s: written", name)
		}
		if err := f.Lock(t.Context(), key, newLockInfo("test", "me")); err == nil {
			t.Errorf("%s: locked", name)
		}
	}
}
