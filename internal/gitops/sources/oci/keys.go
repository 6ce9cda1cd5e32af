// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"slices"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

const (
	// maxKeys limits the keys to try on each signature.
	maxKeys = 32
	// minRSA is NIST's minimum length of a key since 2014, in bits.
	minRSA = 2048
)

// Verification requires a signature by cosign with one of its keys.
type Verification struct {
	keys []key
}

// key is a public key with verifiers for all the schemes that cosign has used with it over time.
type key struct {
	name      string
	encoded   []byte
	verifiers []signature.Verifier
}

// NewVerification reads public keys in PEM: ECDSA, RSA or Ed25519.
func NewVerification(keys map[string][]byte) (*Verification, error) {
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("it has %d public keys; from 1 to %d are needed, each in an entry whose name ends in .pub", len(keys), maxKeys)
	}
	v := &Verification{}
	for name, content := range keys {
		k, err := readKey(name, content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v.keys = append(v.keys, k)
	}
	slices.SortFunc(v.keys, func(a, b key) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return v, nil
}

func readKey(name string, content []byte) (key, error) {
	public, err := cryptoutils.UnmarshalPEMToPublicKey(content)
	if err != nil {
		return key{}, fmt.Errorf("it is not a public key in PEM: %w", err)
	}
	if weak, ok := public.(*rsa.PublicKey); ok && weak.N.BitLen() < minRSA {
		return key{}, fmt.Errorf("the key is too weak: it has %d bits, and at least %d are needed", weak.N.BitLen(), minRSA)
	}
	// cosign signs SHA-256 digests with keys of any size; newer versions fit the digest to the key.
	plain, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		return key{}, err
	}
	k := key{name: name, encoded: content, verifiers: []signature.Verifier{plain}}
	if edwards, ok := public.(ed25519.PublicKey); ok {
		prehashed, err := signature.LoadED25519phVerifier(edwards)
		if err != nil {
			return key{}, err
		}
		k.verifiers = append(k.verifiers, prehashed)
	} else if fitting, err := signature.LoadDefaultVerifier(public); err == nil {
		k.verifiers = append(k.verifiers, fitting)
	}
	return k, nil
}

// signer returns the name of the key that signed a message.
func (v *Verification) signer(message, sig []byte) (string, bool) {
	for _, k := range v.keys {
		for _, verifier := range k.verifiers {
			if verifier.VerifySignature(bytes.NewReader(sig), bytes.NewReader(message)) == nil {
				return k.name, true
			}
		}
	}
	return "", false
}

// parts returns what distinguishes verifications.
func (v *Verification) parts() []string {
	var parts []string
	for _, k := range v.keys {
		parts = append(parts, k.name, string(k.encoded))
	}
	return parts
}
