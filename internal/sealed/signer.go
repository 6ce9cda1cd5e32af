// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Signature is a home's signature of a header.
type Signature struct {
	// PublicKey is PEM (PKIX) of an Ed25519 key.
	PublicKey string `json:"publicKey"`
	Signature []byte `json:"signature"`
	// HomeID identifies the home.
	HomeID string `json:"homeID,omitempty"`
}

// Sign signs a header of the home with this id that lists the stack. The caller answers for the other
// stacks that it lists ([StacksOf]). A home signs nothing else with
// this key, so its signature cannot be taken for one of another document.
func Sign(key ed25519.PrivateKey, header []byte, stack, homeID string) (Signature, error) {
	h, err := parseHeader(header)
	if err != nil {
		return Signature{}, fmt.Errorf("sign an archive: %w", err)
	}
	if !slices.Contains(h.Stacks, stack) || h.HomeID != homeID {
		return Signature{}, bad("sign an archive: its header does not name %s and the home %s", stack, homeID)
	}
	public, err := PublicPEM(key)
	return Signature{PublicKey: public, Signature: ed25519.Sign(key, header), HomeID: homeID}, err
}

// StacksOf are the stacks that a header names, each as NAMESPACE/NAME.
func StacksOf(header []byte) ([]string, error) {
	h, err := parseHeader(header)
	return h.Stacks, err
}

// PublicPEM is the public key of a signer.
func PublicPEM(key ed25519.PrivateKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// parsePublic reads a public key, and returns its fingerprint.
func parsePublic(text []byte) (ed25519.PublicKey, string, error) {
	block, rest := pem.Decode(text)
	if block == nil || strings.TrimSpace(string(rest)) != "" {
		return nil, "", errors.New("it is not one PEM block")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, "", err
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, "", errors.New("it is not an Ed25519 key")
	}
	sum := sha256.Sum256(block.Bytes)
	return public, "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]), nil
}

// Fingerprint is the short form of a public key in PEM.
func Fingerprint(public string) (string, error) {
	_, print, err := parsePublic([]byte(public))
	if err != nil {
		return "", fmt.Errorf("read the public key of a signer: %w", err)
	}
	return print, nil
}

func parseHeader(data []byte) (Header, error) {
	var h Header
	if len(data) > maxHeader {
		return h, bad("its header is larger than %d bytes", maxHeader)
	}
	if err := json.Unmarshal(data, &h); err != nil || h.Kind != Kind {
		return h, bad("its %s is not the header of a sealed archive", headerName)
	}
	if h.Format != Format {
		return h, bad("a newer Yuba wrote it (format %d)", h.Format)
	}
	return h, nil
}
