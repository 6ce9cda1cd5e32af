// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestASecretIsAsOpenTofuKeepsIt(t *testing.T) {
	f := newFixture(t)
	f.key.Workspace = "prod"
	data := aState(1, "a")
	if _, err := f.Write(t.Context(), f.key, WriteRequest{Data: data, Labels: map[string]string{"team": "a"}}); err != nil {
		t.Fatal(err)
	}
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.key.Namespace, Name: "tfstate-prod-vpc",
			Labels: map[string]string{
				"tfstate": "true", "tfstateSecretSuffix": "vpc", "tfstateWorkspace": "prod",
				"app.kubernetes.io/managed-by": "terraform", "team": "a",
			},
			Annotations: map[string]string{"encoding": "gzip"},
		},
		Type: corev1.SecretTypeOpaque,
		Data: packed(t, data),
	}
	set := cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "CreationTimestamp", "ManagedFields")
	if diff := cmp.Diff(want, f.secret(), set); diff != "" {
		t.Error(diff)
	}
}

func TestAWriteKeepsWhatElseTheSecretHas(t *testing.T) {
	f := newFixture(t)
	first := aState(1, "a")
	f.meddle(map[string][]byte{dataKey: packed(t, first)[dataKey], "mine": []byte("x")})
	secret := f.secret()
	secret.Labels = map[string]string{"mine": "x", labelManagedBy: "me"}
	secret.Annotations = map[string]string{"mine": "x"}
	if err := f.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	f.write("run", markOf(1, first), aState(2, "b"))
	got := f.secret()
	wantLabels := map[string]string{
		"mine": "x", labelManagedBy: "me", labelState: "true", labelSuffix: "vpc", labelWorkspace: "default",
	}
	if diff := cmp.Diff(wantLabels, got.Labels); diff != "" {
		t.Errorf("labels:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"mine": "x"}, got.Annotations); diff != "" {
		t.Errorf("annotations:\n%s", diff)
	}
	if string(got.Data["mine"]) != "x" {
		t.Error("other data is gone")
	}
	f.wantState(aState(2, "b"))
}

func TestARepeatedWriteChangesNothing(t *testing.T) {
	f := newFixture(t)
	first := f.write("run", Mark{}, aState(1, "a"))
	second := f.write("run", first.Mark(), aState(2, "b"))
	before := f.secret()
	if diff := cmp.Diff(second, f.write("run", first.Mark(), aState(2, "b"))); diff != "" {
		t.Errorf("another version:\n%s", diff)
	}
	if diff := cmp.Diff(before, f.secret()); diff != "" {
		t.Errorf("the Secret was touched:\n%s", diff)
	}
	f.wantHistory("2 run", "1 run")
}

func TestAStateThatMovedBehindTheRunsBackIsNotOverwritten(t *testing.T) {
	f := newFixture(t)
	base := f.write("run-1", Mark{}, aState(1, "base"))
	foreign := aState(2, "foreign")
	f.meddle(packed(t, foreign))
	for range 2 { // trying again makes no difference
		version, err := f.Write(t.Context(), f.key, WriteRequest{Data: aState(2, "ours"), Previous: base.Mark(), RunID: "run-2"})
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
			t.Fatalf("got %v", err)
		}
		want := &ConflictError{Key: f.key, Expected: base.Mark(), Found: markOf(2, foreign), Stored: version}
		if diff := cmp.Diff(want, conflict); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(err.Error(), "yuba state rollback "+f.key.String()+" "+version.ID) {
			t.Errorf("the message does not say what to do:\n%v", err)
		}
		f.wantState(foreign)
		f.wantHistory("2 run-2", "2 found in the Secret, written by another program", "1 run-1")
	}
}

func TestAWriteWhoseAnswerWasLostDoesNotBlockTheNext(t *testing.T) {
	f := newFixture(t)
	base := f.write("run-1", Mark{}, aState(1, "base"))
	f.write("run-2", base.Mark(), aState(2, "unanswered"))
	f.write("run-2", base.Mark(), aState(3, "next"))
	f.wantState(aState(3, "next"))
	f.wantHistory("3 run-2", "2 run-2", "1 run-1")
}

func TestAStateByOtherMeansIsKeptBeforeItIsReplaced(t *testing.T) {
	f := newFixture(t)
	adopted := aState(41, "plain tofu")
	f.meddle(packed(t, adopted))
	f.write("run", markOf(41, adopted), aState(42, "ours"))
	f.wantState(aState(42, "ours"))
	f.wantHistory("42 run", "41 found in the Secret, written by another program")
}

func TestASecretThatGoesAwayDuringARunIsMadeAgain(t *testing.T) {
	f := newFixture(t)
	base := f.write("run-1", Mark{}, aState(1, "base"))
	f.deleteSecret()
	f.write("run-2", base.Mark(), aState(2, "next"))
	f.wantState(aState(2, "next"))
}

func TestASecretThatWasAwayBeforeIsNotMadeAnew(t *testing.T) {
	f := newFixture(t)
	base := f.write("run-1", Mark{}, aState(7, "base"))
	f.deleteSecret()
	for range 2 {
		_, err := f.Write(t.Context(), f.key, WriteRequest{Data: aState(1, "from nothing"), RunID: "run-2"})
		var vanished *VanishedError
		if !errors.As(err, &vanished) || vanished.Newest.ID != base.ID {
			t.Fatalf("got %v", err)
		}
	}
	f.wantHistory("1 run-2", "7 run-1")
}

func TestAChangeBetweenReadingAndWritingIsJudgedAnew(t *testing.T) {
	for name, test := range map[string]struct {
		content  []byte // what somebody writes meanwhile
		conflict bool
	}{
		"the same state": {aState(1, "base"), false},
		"another state":  {aState(2, "foreign"), true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			base := f.write("run-1", Mark{}, aState(1, "base"))
			meddled := false
			update := func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.UpdateOption) error {
				if !meddled {
					meddled = true
					f.meddle(map[string][]byte{dataKey: packed(t, test.content)[dataKey], "touched": nil})
				}
				return c.Update(ctx, object, o...)
			}
			f.faulty(interceptor.Funcs{Update: update})
			_, err := f.Write(t.Context(), f.key, WriteRequest{Data: aState(2, "ours"), Previous: base.Mark(), RunID: "run-2"})
			var conflict *ConflictError
			if errors.As(err, &conflict) != test.conflict || (err != nil) != test.conflict {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnAPIThatDoesNotAnswerLosesNothing(t *testing.T) {
	f := newFixture(t)
	down := errors.New("connection refused")
	previous := Mark{}
	for serial := range 2 { // the first of all, and one that replaces it
		state := aState(serial+1, "a")
		f.faulty(interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return down
			},
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return down },
		})
		version, err := f.Write(t.Context(), f.key, WriteRequest{Data: state, Previous: previous, RunID: "run"})
		if !errors.Is(err, down) || version.ID == "" {
			t.Errorf("got %+v, %v", version, err)
		}
		f.faulty(interceptor.Funcs{})
		if diff := cmp.Diff(version, f.write("run", previous, state)); diff != "" {
			t.Errorf("tried again:\n%s", diff)
		}
		f.wantState(state)
		previous = version.Mark()
	}
	f.wantHistory("2 run", "1 run")
}

func TestOnlyStatesAreWritten(t *testing.T) {
	f := newFixture(t)
	for _, data := range []string{"", "{", "{}", "hunter2"} {
		_, err := f.Write(t.Context(), f.key, WriteRequest{Data: []byte(data)})
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || !corrupt.Offered {
			t.Errorf("%q: %v", data, err)
		}
	}
	f.wantHistory()
}

// noise is text that does not compress below three quarters.
func noise(size int) string {
	raw := make([]byte, size*3/4)
	rand.NewChaCha8([32]byte{1}).Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

func TestAStateTooLargeForASecretLeavesAPointer(t *testing.T) {
	f := newFixture(t)
	large := aState(1, noise(3<<20))
	version := f.write("run", Mark{}, large)
	secret := f.secret()
	want := map[string]string{
		"encoding": "gzip", AnnotationStateBlob: f.key.versionsPrefix() + version.ID, AnnotationStateDigest: statefile.Digest(large),
	}
	if diff := cmp.Diff(want, secret.Annotations); diff != "" {
		t.Error(diff)
	}
	f.wantState(large)
	larger := aState(2, noise(4<<20))
	second := f.write("run", version.Mark(), larger)
	f.wantState(larger)

	small := aState(3, "small")
	f.write("run", second.Mark(), small)
	f.wantState(small)
	if diff := cmp.Diff(map[string]string{"encoding": "gzip"}, f.secret().Annotations); diff != "" {
		t.Errorf("the pointer stays:\n%s", diff)
	}
}

func TestAPointerThatSomebodyReplacedPointsNowhere(t *testing.T) {
	f := newFixture(t)
	f.write("run", Mark{}, aState(1, noise(3<<20)))
	f.meddle(packed(t, aState(2, "foreign")))
	f.wantState(aState(2, "foreign"))
}

func TestAPointerToOtherContentIsNotFollowed(t *testing.T) {
	f := newFixture(t)
	version := f.write("run", Mark{}, aState(1, noise(3<<20)))
	exchanged, err := packVersion(version, aState(1, "exchanged"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.blobs.PutBytes(t.Context(), f.key.versionsPrefix()+version.ID, exchanged); err != nil {
		t.Fatal(err)
	}
	_, err = f.Read(t.Context(), f.key)
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkWrite(b *testing.B) {
	f := newFixture(b)
	var previous Mark
	serial := 0
	for b.Loop() {
		serial++
		previous = f.write("run", previous, aState(serial, noise(8<<10))).Mark()
	}
}
