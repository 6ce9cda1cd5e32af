// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/yuba-dev/yuba/tools/release/build"
)

const keyVariable = build.KeyVariable

// signingKey signs releases.
type signingKey struct{ key *ecdsa.PrivateKey }

// readSigningKey reads a key in PEM, or the file with it; nil for an empty text.
func readSigningKey(value string) (*signingKey, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // no key is a choice
	}
	text, where := []byte(value), "$"+keyVariable
	if !strings.HasPrefix(value, "-----BEGIN") {
		content, err := os.ReadFile(value)
		if err != nil {
			return nil, fmt.Errorf("read the signing key: %w", err)
		}
		text, where = content, value
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if key := parseKey(block); key != nil {
			return &signingKey{key}, nil
		}
	}
	return nil, fmt.Errorf("read the signing key: %s has no ECDSA key on P-256 without a password. Make one with:\n"+
		"    openssl ecparam -name prime256v1 -genkey -noout -out yuba.key", where)
}

func parseKey(block *pem.Block) *ecdsa.PrivateKey {
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil
		}
		key, _ = any.(*ecdsa.PrivateKey)
	}
	if key == nil || key.Curve != elliptic.P256() {
		return nil
	}
	return key
}

// sign writes the signature of a text beside its file, and the public key. Signatures are
// deterministic.
func (k *signingKey) sign(path string, text []byte, publicPath string) error {
	digest := sha256.Sum256(text)
	signature, err := k.key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return fmt.Errorf("sign %s: %w", path, err)
	}
	public, err := x509.MarshalPKIXPublicKey(k.key.Public())
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(path+".sig", signature, 0o644),
		os.WriteFile(publicPath, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644),
	)
}
