// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

var errCut = errors.New("the connection was cut")

// halfWritten stores a version, and loses the API before the Secret is written.
func (f *fixture) halfWritten(run string, previous Mark, data []byte) {
	f.t.Helper()
	isSecret := func(obj client.Object) bool { _, is := obj.(*corev1.Secret); return is }
	f.faulty(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if isSecret(obj) {
				return errCut
			}
			return c.Create(ctx, obj, o...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			if isSecret(obj) {
				return errCut
			}
			return c.Update(ctx, obj, o...)
		},
	})
	defer f.faulty(interceptor.Funcs{})
	if _, err := f.Write(f.t.Context(), f.key, WriteRequest{Data: data, Previous: previous, RunID: run}); !errors.Is(err, errCut) {
		f.t.Fatal(err)
	}
}

func TestAHalfWriteIsFinished(t *testing.T) {
	for sentence, test := range map[string]struct {
		before  func(f *fixture) Mark
		between func(f *fixture)
		// wrote is whether FinishWrite writes; conflicts, whether another writer prevents it.
		wrote, conflicts bool
		want             []byte
	}{
		"the first state": {wrote: true, want: aState(2, "ours")},
		"a later state": {
			before: func(f *fixture) Mark { return f.write("run-1", Mark{}, aState(1, "base")).Mark() },
			wrote:  true, want: aState(2, "ours"),
		},
		"one of several of the run": {
			before: func(f *fixture) Mark { f.write("run-2", Mark{}, aState(1, "base")); return Mark{} },
			wrote:  true, want: aState(2, "ours"),
		},
		"the runner repeated it": {
			between: func(f *fixture) { f.write("run-2", Mark{}, aState(2, "ours")) },
			want:    aState(2, "ours"),
		},
		"another writer came in between": {
			before:    func(f *fixture) Mark { return f.write("run-1", Mark{}, aState(1, "base")).Mark() },
			between:   func(f *fixture) { f.meddle(packed(f.t, aState(2, "foreign"))) },
			conflicts: true, want: aState(2, "foreign"),
		},
		"another writer came in between, and stored a version": {
			before: func(f *fixture) Mark { return f.write("run-1", Mark{}, aState(1, "base")).Mark() },
			between: func(f *fixture) {
				f.write("run-3", markOf(1, aState(1, "base")), aState(3, "theirs"))
			},
			want: aState(3, "theirs"),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFixture(t)
			var began Mark
			if test.before != nil {
				began = test.before(f)
			}
			f.halfWritten("run-2", began, aState(2, "ours"))
			if test.between != nil {
				test.between(f)
			}
			for again := range 2 {
				version, wrote, err := f.FinishWrite(t.Context(), f.key, WriteRequest{RunID: "run-2", Previous: began})
				var conflict *ConflictError
				if errors.As(err, &conflict) != test.conflicts || !test.conflicts && err != nil {
					t.Fatal(err)
				}
				if wrote != (test.wrote && again == 0) || wrote && version.Digest != statefile.Digest(test.want) {
					t.Errorf("attempt %d: wrote %v, %+v", again, wrote, version)
				}
				f.wantState(test.want)
			}
		})
	}
}

// A state that was gone before the run began stays gone: a person decides.
func TestFinishingAWriteRestoresNoOtherRunsState(t *testing.T) {
	f := newFixture(t)
	f.write("run-1", Mark{}, aState(1, "base"))
	f.deleteSecret()
	if _, wrote, err := f.FinishWrite(t.Context(), f.key, WriteRequest{RunID: "run-2"}); wrote || err != nil {
		t.Errorf("wrote %v: %v", wrote, err)
	}
	f.halfWritten("run-2", markOf(1, aState(1, "base")), aState(2, "ours"))
	var vanished *VanishedError
	if _, wrote, err := f.FinishWrite(t.Context(), f.key, WriteRequest{RunID: "run-2"}); wrote || !errors.As(err, &vanished) {
		t.Errorf("wrote %v: %v", wrote, err)
	}
}
