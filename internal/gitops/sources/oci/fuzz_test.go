// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// FuzzSignatures checks that no input is a valid signature of a key that has not signed anything.
func FuzzSignatures(f *testing.F) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	public, err := cryptoutils.MarshalPublicKeyToPEM(private.Public())
	if err != nil {
		f.Fatal(err)
	}
	verification, err := NewVerification(map[string][]byte{"a.pub": public})
	if err != nil {
		f.Fatal(err)
	}
	s := &search{verification: verification, digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("ab", 32)}}
	f.Add(bundleOf(inTotoPayload, statement(signPredicate, s.digest), []byte("x")), []byte("MEUC"))
	f.Add(simple(s.digest), []byte{0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00})
	f.Fuzz(func(t *testing.T, document, sig []byte) {
		if signer := s.envelope(document); signer != "" {
			t.Errorf("signed by %s", signer)
		}
		if signer, ok := s.verification.signer(document, sig); ok {
			t.Errorf("signed by %s", signer)
		}
		s.simpleNames(document)
		s.statementNames(document)
	})
}

// FuzzDockerConfig checks that no document causes a panic, or is quoted in an error.
func FuzzDockerConfig(f *testing.F) {
	f.Add(string(dockerConfig("ghcr.io", "user", "hunter2")))
	f.Add(`{"auths":{"x":{"auth":"hunter2"}}}`)
	f.Add(`{"*.example.com/a/b":{"username":"hunter2"}}`)
	f.Fuzz(func(t *testing.T, document string) {
		var c Credentials
		if err := c.AddDockerConfig([]byte(document)); err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
		r := &Repository{URL: "oci://a.example.com/a/b"}
		repository, err := r.parse()
		if err != nil {
			t.Fatal(err)
		}
		c.authenticator(repository)
	})
}
