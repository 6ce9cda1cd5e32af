// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func sample(t testing.TB) ([]byte, map[string]string) {
	t.Helper()
	members := map[string]string{"empty": "", "small": "hello", "exact": strings.Repeat("x", ChunkSize), "large": strings.Repeat("0123456789", ChunkSize/3)}
	var out bytes.Buffer
	w := NewWriter(t.Context(), &out, time.Unix(1, 0))
	for _, name := range []string{"empty", "small", "exact", "large"} {
		if err := w.Add(name, strings.NewReader(members[name])); err != nil {
			t.Fatal(err)
		}
	}
	w.Manifest.Damaged = []string{"lost"}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), members
}

func TestMembersAreReadInAnyOrder(t *testing.T) {
	data, members := sample(t)
	a, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"large", "empty", "exact", "small", "large"} {
		got, err := io.ReadAll(a.Reader(name))
		if err != nil || string(got) != members[name] {
			t.Errorf("%s has %d bytes, want %d (%v)", name, len(got), len(members[name]), err)
		}
	}
	if a.Reader("other") != nil || len(a.Manifest.Damaged) != 1 {
		t.Errorf("manifest %+v", a.Manifest.Damaged)
	}
}

func TestOpenRefusesDamage(t *testing.T) {
	data, _ := sample(t)
	changed := bytes.Replace(bytes.Clone(data), []byte("hello"), []byte("hallo"), 1)
	for sentence, bad := range map[string][]byte{
		"nothing": nil, "half of it": data[:len(data)/2], "a changed member": changed, "something else": []byte(strings.Repeat("hello", 1000)),
	} {
		if _, err := Open(bytes.NewReader(bad), int64(len(bad))); err == nil {
			t.Errorf("%s was accepted", sentence)
		}
	}
}

func FuzzOpen(f *testing.F) {
	var out bytes.Buffer
	w := NewWriter(f.Context(), &out, time.Unix(1, 0))
	if err := w.AddJSON("a", "b"); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := Open(bytes.NewReader(data), int64(len(data))); err == nil {
			for _, name := range a.Names() {
				io.Copy(io.Discard, a.Reader(name)) //nolint:errcheck // it must not crash
			}
		}
	})
}
