// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/sealed"
)

func FuzzOpen(f *testing.F) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	to, err := sealed.ParseRecipients([]string{identity.Recipient().String()})
	if err != nil {
		f.Fatal(err)
	}
	w, err := sealed.NewWriter(f.Context(), to, f.TempDir(), time.Unix(1, 0))
	if err != nil {
		f.Fatal(err)
	}
	if err := w.AddBytes("a", []byte("b")); err != nil {
		f.Fatal(err)
	}
	w.Index.Stacks = vpc
	s, err := w.Close(sealed.Header{HomeID: homeID, Stacks: []string{"team/vpc"}}, sign)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytesOf(f, s))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := sealed.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if a.Verify(t.Context()) != nil {
			return
		}
		index, err := a.ReadIndex(identity)
		if err != nil {
			return
		}
		a.Each(t.Context(), index, []age.Identity{identity}, func(string, io.Reader) error { return nil }) //nolint:errcheck // it must not crash
	})
}
