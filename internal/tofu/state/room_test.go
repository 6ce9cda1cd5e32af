// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// room asks whether an apply's state will be taken.
func (f *fixture) room() error {
	f.t.Helper()
	now, err := f.Read(f.t.Context(), f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.Room(f.t.Context(), f.key, now, map[string]string{"team": "a"})
}

func TestAnApplyThatNoSecretWouldTakeTheStateOfIsRefused(t *testing.T) {
	f := newFixture(t)
	if err := f.room(); err != nil {
		t.Fatalf("nothing is in the way: %v", err)
	}
	lift := apitest.FullOfSecrets(t, f.key.Namespace)
	var denied *DeniedError
	if err := f.room(); !errors.As(err, &denied) || !strings.Contains(err.Error(), "exceeded quota") {
		t.Fatalf("the quota is used up: %v", err)
	}
	if _, err := f.Write(t.Context(), f.key, WriteRequest{Data: aState(1, "a"), RunID: "run-1"}); !Denied(err) {
		t.Errorf("a write is refused with %v", err)
	}
	lift()
	f.write("run-1", Mark{}, aState(1, "a"))
	apitest.FullOfSecrets(t, f.key.Namespace)
	if err := f.room(); err != nil {
		t.Errorf("the Secret is there already: %v", err)
	}
	secret, err := f.getSecret(t.Context(), f.key)
	if err != nil || secret == nil {
		t.Fatalf("%v %v", secret, err)
	}
	immutable := true
	secret.Immutable = &immutable
	if err := f.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := f.room(); !errors.As(err, &denied) || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("somebody made it immutable: %v", err)
	}
	_, err = f.Write(t.Context(), f.key, WriteRequest{Data: aState(2, "b"), RunID: "run-2", Previous: markOf(1, aState(1, "a"))})
	if !Denied(err) {
		t.Errorf("a write to an immutable Secret is refused with %v", err)
	}
}
