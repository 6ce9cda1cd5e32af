// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestRequests(t *testing.T) {
	given := &advert{caps: capability.NewList()}
	for _, one := range []capability.Capability{capability.MultiACKDetailed, capability.Sideband64k, capability.OFSDelta, capability.Shallow, capability.ThinPack} {
		if err := given.caps.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ask{wants: []plumbing.Hash{hash("1"), hash("2")}, haves: []plumbing.Hash{hash("3")}, shallow: true, thin: true}.encode(given)
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := hash("1").String(), hash("2").String(), hash("3").String()
	want := "0073want " + one + " agent=yuba multi_ack_detailed side-band-64k ofs-delta thin-pack shallow\n0032want " + two + "\n0035shallow " + three +
		"\n000ddeepen 1\n0000" + "0032have " + three + "\n0009done\n"
	want = strings.Replace(want, "0073want", string(got[:4])+"want", 1)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	pack := "PACK\x00\x00\x00\x02"
	cases := map[string]struct {
		answer  string
		shallow bool
		want    string // the pack, or a part of the error
		fail    bool
	}{
		"a pack as it is":                   {"0008NAK\n" + pack, false, pack, false},
		"a pack in pieces":                  {"0008NAK\n0009\x01PACK0009\x01\x00\x00\x00\x020000", false, pack, false},
		"progress":                          {"0008NAK\n000b\x02count!0009\x01PACK0007\x02..0009\x01\x00\x00\x00\x020000", false, pack, false},
		"all that a server may have to say": {"0035shallow 1111111111111111111111111111111111111111\n0000" + "0038ACK 1111111111111111111111111111111111111111 common\n0031ACK 1111111111111111111111111111111111111111\n" + pack, true, pack, false},
		"a failure":                         {"0013ERR not our ref", false, "not our ref", true},
		"another failure":                   {"000cERR gone", false, "gone", true},
		"a failure in the middle of a pack": {"0008NAK\n0009\x01PACK0009\x03dead", false, "dead", true},
		"an end before the pack":            {"0008NAK\n", false, "stopped before", true},
		"an end in the middle of the pack":  {"0008NAK\n0009\x01PACK", false, "middle", true},
		"an end in the middle of a piece":   {"0008NAK\n0020\x01PACK", false, "EOF", true},
		"something else":                    {"0009hello", false, "something else", true},
		"nothing":                           {"", true, "too early", true},
		"endless agreement":                 {strings.Repeat("0008NAK\n", 1<<20), false, "besides the pack", true},
		"endless shallow commits":           {strings.Repeat("0035shallow 1111111111111111111111111111111111111111\n", 1<<18), true, "besides the pack", true},
		"endless progress":                  {"0008NAK\n" + strings.Repeat("000b\x02count!", 1<<20), false, "besides the pack", true},
		"endless pieces of nothing":         {"0008NAK\n" + strings.Repeat("0005\x01", 1<<21), false, "besides the pack", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []byte
			r, err := openPack(strings.NewReader(c.answer), c.shallow)
			if err == nil {
				got, err = io.ReadAll(r)
			}
			if c.fail {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("the error is %v, want one with %q", err, c.want)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("the pack is %q, %v", got, err)
			}
		})
	}
}

func TestAdvertsAreBounded(t *testing.T) {
	line := "0043" + hash("1").String() + " refs/heads/0123456789\n"
	endless := io.MultiReader(strings.NewReader("0043"+hash("1").String()+" refs/heads/012345678\x00\n"), repeat(line))
	if _, err := readAdvert(bufio.NewReader(endless)); err == nil || !strings.Contains(err.Error(), "too big") {
		t.Errorf("the error is %v", err)
	}
	long := strings.Repeat("1", 64)
	if _, err := readAdvert(strings.NewReader("0057" + long + " HEAD\x00object-format=sha256\n0000")); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("the error is %v", err)
	}
}

type repeat string

func (r repeat) Read(b []byte) (int, error) {
	n := 0
	for n+len(r) <= len(b) {
		n += copy(b[n:], r)
	}
	if n == 0 {
		return copy(b, r), nil
	}
	return n, nil
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte("0008NAK\n0009\x01PACK0009\x01\x00\x00\x00\x020000"), true)
	f.Add([]byte("001e# service=git-upload-pack\n0000"), false)
	f.Fuzz(func(t *testing.T, answer []byte, shallow bool) {
		if r, err := openPack(bytes.NewReader(answer), shallow); err == nil {
			if n, err := io.Copy(io.Discard, r); err == nil && n > int64(len(answer)) {
				t.Error("the result is larger than the input")
			}
		}
		if given, err := readAdvert(bytes.NewReader(answer)); err == nil && len(given.refs) == 0 {
			t.Error("neither references nor an error")
		}
	})
}

// FuzzPacks adds hostile packs to a store: every object must match its hash.
func FuzzPacks(f *testing.F) {
	server := gittest.New(f)
	r := server.Repository(f, "central")
	r.Commit(f, "first", gittest.Files{"a": strings.Repeat("line\n", 100), "b": "x"})
	r.Commit(f, "second", gittest.Files{"a": strings.Repeat("line\n", 100) + "more\n"})
	r.Git(f, "-C", r.Path(), "repack", "-a", "-d", "-f", "--quiet")
	packs, err := filepath.Glob(filepath.Join(r.Path(), "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		f.Fatalf("there are the packs %v, %v", packs, err)
	}
	seed, err := os.ReadFile(packs[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, false)
	f.Add(seed, true)
	f.Fuzz(func(t *testing.T, pack []byte, thin bool) {
		s := &store{dir: t.TempDir(), shallow: true}
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		free := func(context.Context) (func(), error) { return func() {}, nil }
		if err := s.receive(t.Context(), bytes.NewReader(pack), thin, packLimits{bytes: 1 << 20, object: 1 << 20}, free); err != nil {
			return
		}
		o := openObjects(s.dir)
		defer o.Close()
		all, err := o.storage.IterEncodedObjects(plumbing.AnyObject)
		if err != nil {
			t.Fatal(err)
		}
		err = all.ForEach(func(one plumbing.EncodedObject) error {
			_, content, err := o.read(one.Hash(), 1<<20)
			if err == nil && plumbing.ComputeHash(one.Type(), content) != one.Hash() {
				t.Errorf("%s does not match its hash", one.Hash())
			}
			return nil
		})
		if err != nil {
			t.Logf("the store has objects that cannot be read: %v", err)
		}
	})
}
