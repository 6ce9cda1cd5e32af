// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package worktree

import (
	"strings"
	"testing"
)

func TestAddressesOfOneRepositoryAreEqual(t *testing.T) {
	for want, texts := range map[string][]string{
		"github.com/acme/infra": {"https://github.com/acme/infra", "https://github.com/acme/infra.git", "https://user:s3cret@GitHub.com:443/Acme/infra.git/",
			"ssh://git@github.com/acme/infra.git", "ssh://git@github.com:22/acme/infra", "git@github.com:acme/infra.git", "github.com:acme/infra", "http://github.com//acme/./infra"},
		"git.example.com:3000/a/b/c": {"https://git.example.com:3000/a/b/c.git", "http://x@git.example.com:3000/a/b/c"},
		"git.example.com/a/b":        {"ssh://git@git.example.com:2222/a/b.git", "git@git.example.com:/a/b.git"},
		"/srv/git/infra":             {"file:///srv/git/infra.git", "/srv/git/infra.git/", "/srv/git/infra/.git", "file:///srv/git/infra"},
	} {
		for _, text := range texts {
			got, ok := Address(text)
			if !ok || got != want {
				t.Errorf("%s: %q %v, want %q", text, got, ok, want)
			}
			if strings.Contains(got, "s3cret") {
				t.Errorf("%s: the address has a password", text)
			}
		}
	}
	for _, text := range []string{"", "https://", "https://github.com/", "infra", "./infra", "a b:c d"} {
		if got, ok := Address(text); ok {
			t.Errorf("%q is an address: %q", text, got)
		}
	}
}

func TestTheSameRepository(t *testing.T) {
	clone := []string{"git.example.com/a/b", "other:3000/a/b"}
	for text, want := range map[string]bool{
		"https://git.example.com/a/b.git":      true,
		"https://git.example.com:3000/a/b.git": true, // of ssh, the port is another one
		"https://git.example.com/a/c":          false,
		"https://other:3000/a/b":               true,
		"ssh://git@other/a/b":                  true,
		"https://other:4000/a/b":               false,
		"":                                     false,
	} {
		if got := SameRepository(clone, text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
