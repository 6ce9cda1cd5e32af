// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// errAway is what the store says while it is away.
var errAway = errors.New("connection reset by peer")

// ailing is a blob store whose reads fail: at once, or after some bytes.
type ailing struct {
	blobs
	// whole is how many bytes of each blob can be read before the store goes away.
	whole int64
	err   error
}

func (a ailing) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if a.whole < 0 {
		return nil, a.err
	}
	content, err := a.blobs.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(content, a.whole), failing{a.err}), content}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A store that does not answer for a while says nothing about the states in it: nobody is to go
// back to an older one.
func TestOutageOfTheBlobStoreIsNoDamage(t *testing.T) {
	f := newFixture(t)
	large := aState(1, noise(3<<20))
	version := f.write("run", Mark{}, large)
	if string(f.secret().Data[dataKey]) != pointerNote {
		t.Fatal("the state is in the Secret")
	}
	healthy := f.blobs
	for name, a := range map[string]ailing{
		"it cannot be reached":               {whole: -1, err: errAway},
		"it goes away before the first byte": {whole: 0, err: errAway},
		"it goes away in the header":         {whole: 40, err: errAway},
		"it goes away in the middle":         {whole: 1 << 20, err: errAway},
		"whoever asked has given up":         {whole: 1 << 20, err: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			a.blobs = healthy
			f.blobs = a
			defer func() { f.blobs = healthy }()
			_, _, versionErr := f.ReadVersion(t.Context(), f.key, version.ID)
			_, stateErr := f.Read(t.Context(), f.key)
			_, writeErr := f.Write(t.Context(), f.key, WriteRequest{Data: aState(2, "b"), Previous: version.Mark(), RunID: "run"})
			for what, err := range map[string]error{"the version": versionErr, "the state": stateErr, "a write": writeErr} {
				var corrupt *CorruptError
				if err == nil || errors.As(err, &corrupt) || strings.Contains(err.Error(), "rollback") {
					t.Errorf("%s: %v", what, err)
				}
				if !errors.Is(err, a.err) {
					t.Errorf("%s: the cause is lost: %v", what, err)
				}
			}
		})
	}
	f.wantState(large)
}
