// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lockText is what tofu 1.12 writes.
const lockText = `# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.4"
  hashes = [
    "h1:127ts0CG8hFk1bHIfrBsKxcnt9bAYQCq3udWM+AACH8=",
    "zh:00fd7ab2c3d2e9ee7db9e2b9c4e1cc5c1e7a5ca4a9c0e1c8a9d9d2c7b3f4a5e6",
  ]
}

provider "registry.opentofu.org/hashicorp/time" {
  version     = "0.13.1"
  constraints = "~> 0.13, < 1.0.0"
}
`

func TestALockFileIsWrittenAsItWasRead(t *testing.T) {
	f, err := ParseLockFile([]byte(lockText))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lockText, string(f.Bytes())); diff != "" {
		t.Error(diff)
	}
}

func TestALockFileIsCompletedAndLosesNothing(t *testing.T) {
	f, err := ParseLockFile([]byte(lockText))
	if err != nil {
		t.Fatal(err)
	}
	null, missing := f.Locks[0].Address, f.Locks[1].Address
	missing.Type = "random"
	h1 := "h1:" + strings.Repeat("B", 43) + "="
	same := &Package{Address: null, Version: "3.2.4", H1: h1, Hashes: []string{h1, "zh:" + strings.Repeat("1", 64)}}
	if !f.Complete(same) || f.Complete(same) {
		t.Error("the first time changes it, the second does not")
	}
	if got := f.Find(null).Hashes; len(got) != 4 {
		t.Errorf("%v", got)
	}
	if !f.Complete(&Package{Address: missing, Version: "1.0.0", H1: h1, Hashes: []string{h1}}) || f.Find(missing).Version != "1.0.0" {
		t.Errorf("%+v", f)
	}
	f.Complete(&Package{Address: null, Version: "4.0.0", H1: h1, Hashes: []string{h1}})
	if diff := cmp.Diff(Lock{Address: null, Version: "4.0.0", Hashes: []string{h1}}, *f.Find(null)); diff != "" {
		t.Errorf("another version keeps hashes of the one before: %s", diff)
	}
	text := f.Bytes()
	again, err := ParseLockFile(text)
	if err != nil || string(again.Bytes()) != string(text) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestTofuReadsWhatIsWritten(t *testing.T) {
	b := newBench(t).publish("1.2.3")
	got := b.must(Want{Version: "1.2.3"})
	f := LockFile{}
	f.Complete(got.Package)
	dir := t.TempDir()
	if err := writeProgram(dir, got.Address, "", nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, lockFileName)
	if err := os.WriteFile(path, f.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.fetch(t.Context(), dir, b.store.Scope("").Mirror(), got.Address); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(f.Bytes()), string(after)); diff != "" {
		t.Errorf("tofu changed it: %s", diff)
	}
	target, err := os.Readlink(filepath.Join(dir, installedName, got.Host, got.Namespace, got.Type, got.Version, platform()))
	if err != nil || target != got.Dir {
		t.Errorf("linked to %s, %v", target, err)
	}
}

func TestWhatIsNoLockFileIsLeftToTheTool(t *testing.T) {
	for sentence, test := range map[string]struct{ text, want string }{
		"a mistake":         {"provider {", `line 1, column 1: expected an entry of a provider, not "provider {"`},
		"an open block":     {"# one\nprovider \"a.example/b/c\" {\n", "line 2, column 26: Unclosed configuration block: "},
		"something else":    {"resource \"a\" \"b\" {\n}\n", "line 1, column 1: "},
		"an argument":       {"\n  version = \"1.0.0\"\n", `line 2, column 3: "version" is not in an entry`},
		"twice the same":    {"provider \"a.example/b/c\" {\n  version = \"1.0.0\"\n}\nprovider \"a.example/b/c\" {\n  version = \"1.0.0\"\n}\n", "line 4, column 1: a.example/b/c has a second entry"},
		"a path":            {"provider \"../../etc\" {\n  version = \"1.0.0\"\n}\n", `line 1, column 10: "../../etc" is not the source of a provider`},
		"a version as path": {"provider \"a.example/b/c\" {\n  version = \"../../1\"\n}\n", `line 2, column 13: "../../1" is not a version`},
		"no version":        {"provider \"a.example/b/c\" {\n}\n", "line 1, column 1: the entry has no version"},
		"no hash":           {"provider \"a.example/b/c\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"h1:!\",\n  ]\n}\n", `line 3, column 12: "h1:!" is not a hash`},
		"an expression":     {"provider \"a.example/b/c\" {\n  version = upper(\"1.0.0\")\n}\n", "line 2, column 3: "},
		"many brackets":     {"provider \"a.example/b/c\" {\n  version = " + strings.Repeat("(", 100_000) + "\n}\n", "nested more than 16 deep"},
		"many signs":        {"provider \"a.example/b/c\" {\n  version = " + strings.Repeat("!", 100_000) + "true\n}\n", "line 2, column 3: "},
		"too much":          {strings.Repeat("#\n", maxLockFile), "more than 1024 KiB"},
	} {
		if f, err := ParseLockFile([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v", sentence, f, err)
		}
	}
}

func FuzzLockFile(f *testing.F) {
	f.Add([]byte(lockText))
	f.Add([]byte("provider \"a.example/b/c\" {\n  version = \"1.0.0\"\n  hashes = [\"h1:0123456789abcdef=\"]\n}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ParseLockFile(text)
		if err != nil {
			return
		}
		again, err := ParseLockFile(read.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, read.Bytes())
		}
		if diff := cmp.Diff(string(read.Bytes()), string(again.Bytes())); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSources(t *testing.T) {
	for source, want := range map[string]string{
		"time": "registry.opentofu.org/hashicorp/time", "acme/thing": "registry.opentofu.org/acme/thing", "Example.com/Acme/Thing": "example.com/acme/thing",
		"127.0.0.1:8443/a/b": "127.0.0.1:8443/a/b", "": "", "../x": "", "a/b/c/d": "", "host/../x": "", "-/aws": "", "a.example/b/c\n": "", "a b/c": "", "xn--e1afmkfd.example/a/b": "",
	} {
		a, err := ParseAddress(source, DefaultHost("tofu"))
		if got := a.String(); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s %v, want %q", source, got, err, want)
		}
	}
}

func TestConstraints(t *testing.T) {
	for _, c := range []struct {
		list         []string
		all, exactly string
		bad          bool
	}{
		{nil, "", "", false},
		{[]string{"~> 1.2", ">=1.0,<  2"}, "~> 1.2, >=1.0, < 2", "", false},
		{[]string{"1.2.3"}, "1.2.3", "1.2.3", false},
		{[]string{"= 1.2.3", "1.2.3"}, "= 1.2.3, 1.2.3", "1.2.3", false},
		{[]string{"1.2.3", ">= 1"}, "1.2.3, >= 1", "", false},
		{[]string{"1.2"}, "1.2", "", false},
		{[]string{"10.0.20-rc.1"}, "10.0.20-rc.1", "10.0.20-rc.1", false},
		{[]string{"1.02.3"}, "1.02.3", "", false}, // tools write 1.2.3
		{[]string{"newest"}, "", "", true},
		{[]string{"1.0\"\n}"}, "", "", true},
		{[]string{""}, "", "", true},
	} {
		all, err := ParseConstraints(c.list)
		if string(all) != c.all || all.Exact() != c.exactly || (err != nil) != c.bad {
			t.Errorf("%q: %q %q %v", c.list, all, all.Exact(), err)
		}
	}
}
