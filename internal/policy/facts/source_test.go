// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"testing"
)

func TestSourcesHaveOneForm(t *testing.T) {
	for want, written := range map[string][]string{
		"registry.opentofu.org/acme/vpc/aws":               {"acme/vpc/aws", "registry.opentofu.org/acme/vpc/aws", "Registry.OpenTofu.org/acme/vpc/aws", "registry.opentofu.org:443/acme/vpc/aws"},
		"registry.opentofu.org/acme/vpc/aws//modules/a":    {"acme/vpc/aws//modules/a", "acme/vpc/aws//modules//a/", "acme/vpc/aws//./modules/b/../a"},
		"registry.example.com:8443/acme/vpc/aws":           {"registry.example.com:8443/acme/vpc/aws"},
		"git::https://github.com/acme/modules":             {"github.com/acme/modules", "git::https://github.com/acme/modules.git", "git::https://user:secret@GitHub.com:443/acme/modules.git/"},
		"git::https://github.com/acme/modules//vpc?ref=v1": {"github.com/acme/modules//vpc?ref=v1", "github.com/acme/modules/vpc?ref=v1", "git::https://github.com/acme/modules.git//vpc/?ref=v1&depth=1", "git::https://github.com/acme/modules//vpc?sshkey=abc&ref=v1"},
		"git::ssh://github.com/acme/modules?ref=v1":        {"git@github.com:acme/modules.git?ref=v1", "git::git@github.com:acme/modules.git?ref=v1", "git::ssh://git@github.com/acme/modules.git?ref=v1", "git::ssh://git@github.com:22/acme/modules?ref=v1"},
		"./network":    {"./network", "./network/", "./a/../network", "./././network"},
		"./../network": {"../network", ".././network"},
		"https://example.com/vpc.zip//a?checksum=md5%3Ax":   {"https://example.com/vpc.zip//a?checksum=md5:x", "https://EXAMPLE.com./vpc.zip//a?checksum=md5%3Ax"},
		"s3::https://s3.amazonaws.com/b/vpc.zip":            {"s3::https://s3.amazonaws.com/b/vpc.zip", "S3::https://s3.amazonaws.com:443/b/vpc.zip"},
		"oci://registry.example.com/vpc?digest=sha256%3Aab": {"oci://registry.example.com/vpc?digest=sha256:ab"},
	} {
		for _, text := range written {
			if got := NormalizeSource(text); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
			if again := NormalizeSource(NormalizeSource(text)); again != NormalizeSource(text) {
				t.Errorf("%s is %s, and then %s", text, NormalizeSource(text), again)
			}
		}
	}
	// What only looks alike is another source.
	for _, pair := range [][2]string{
		{"acme/vpc/aws", "acme/vpc/awscc"}, {"acme/vpc/aws", "evil.example.com/acme/vpc/aws"}, {"acme/vpc/aws", "./acme/vpc/aws"},
		{"github.com/acme/modules", "github.com.evil.example.com/acme/modules"}, {"github.com/acme/modules", "git::https://github.com@evil.example.com/acme/modules"},
		{"github.com/acme/modules", "git::https://evil.example.com/github.com/acme/modules"}, {"github.com/acme/modules", "https://github.com/acme/modules.git"},
		{"github.com/acme/modules?ref=v1", "github.com/acme/modules?ref=v1&ref=v2"}, {"github.com/acme/modules//vpc", "github.com/acme/modules//vpc2"},
		{"git::https://github.com/acme/modules", "git::http://github.com/acme/modules"}, {"git::https://github.com/acme/modules", "git::https://github.com:8443/acme/modules"},
		{"git::https://github.com/acme/modules", "git::https://github.com/acme/../acme2/modules"}, {"git::https://github.com/acme/modules", "git::https://github.com/acme%2fmodules"},
		{"git::https://github.com/acme/modules//vpc", "git::https://github.com/acme/modules//../../vpc"},
	} {
		if a, b := NormalizeSource(pair[0]), NormalizeSource(pair[1]); a == b {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], a)
		}
	}
}

func FuzzParseSource(f *testing.F) {
	for _, text := range []string{"acme/vpc/aws//a", "github.com/a/b//c?ref=v1", "git@github.com:a/b.git", "git::ssh://h/p?x=%zz", "../x", "https://h//p//q?archive=zip"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := ParseSource(text)
		if local(text) != (s.Kind == SourceLocal) {
			t.Errorf("%q is of the kind %s", text, s.Kind)
		}
	})
}
