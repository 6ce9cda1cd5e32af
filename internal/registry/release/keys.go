// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	openpgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Key is a public key in the format of registries, and of signing-keys.json.
type Key struct {
	ID             string `json:"key_id"`
	Armor          string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature,omitempty"`
	Source         string `json:"source,omitempty"`
	SourceURL      string `json:"source_url,omitempty"`
}

// Keys is a document with public keys.
type Keys struct {
	GPG []Key `json:"gpg_public_keys"`
}

// MaxKeys limits a document of keys.
const MaxKeys = 1 << 20

// ParseKeys parses signing-keys.json. Old releases of boring-registry wrote one key without a list.
func ParseKeys(text []byte) (Keys, error) {
	var keys struct {
		Keys
		Key
	}
	if err := json.Unmarshal(text, &keys); err != nil {
		return Keys{}, fmt.Errorf("read the signing keys: they are not JSON with gpg_public_keys: %w", err)
	}
	if len(keys.GPG) == 0 && keys.Armor != "" {
		keys.GPG = []Key{keys.Key}
	}
	return keys.Keys, nil
}

// Bytes returns the document.
func (k Keys) Bytes() []byte {
	if k.GPG == nil {
		k.GPG = []Key{}
	}
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		panic("encode signing keys: " + err.Error()) // strings only
	}
	return append(text, '\n')
}

// Merge adds keys that are not in the list yet, and reports whether there were any.
func (k *Keys) Merge(more []Key) bool {
	before := len(k.GPG)
	for _, key := range more {
		if !slices.ContainsFunc(k.GPG, func(have Key) bool { return have.Armor == key.Armor }) {
			k.GPG = append(k.GPG, key)
		}
	}
	return len(k.GPG) > before
}

// KeyInfo describes a public key for people.
type KeyInfo struct {
	ID          string    `json:"id"`
	Fingerprint string    `json:"fingerprint"`
	Names       []string  `json:"names,omitempty"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires,omitzero"`
	Revoked     bool      `json:"revoked,omitempty"`
	// Problem says why the key cannot sign now; empty if it can.
	Problem string `json:"problem,omitempty"`
}

// entities reads the keys of an armoured block. It refuses private keys: they would be published.
func entities(armor string) (openpgp.EntityList, error) {
	list, err := openpgp.ReadArmoredKeyRing(strings.NewReader(armor))
	if err != nil {
		return nil, fmt.Errorf("it is not an armoured OpenPGP public key: %w", err)
	}
	for _, entity := range list {
		if entity.PrivateKey != nil {
			return nil, errors.New("it is a PRIVATE key. Do not give it to anyone; export the public one:\n    gpg --armor --export KEY-ID")
		}
	}
	return list, nil
}

// ReadKeys reads the armoured public keys of a file, one Key for each, with a description.
func ReadKeys(text []byte, now time.Time) ([]Key, []KeyInfo, error) {
	if len(text) > MaxKeys {
		return nil, nil, fmt.Errorf("it has more than %d bytes, which no public key has", MaxKeys)
	}
	list, err := entities(string(text))
	if err != nil {
		return nil, nil, err
	}
	if len(list) != 1 {
		return nil, nil, fmt.Errorf("it contains %d keys; use one file for each", len(list))
	}
	info := describe(list[0], now)
	return []Key{{ID: info.ID, Armor: string(bytes.TrimSpace(text)) + "\n"}}, []KeyInfo{info}, nil
}

// Describe describes a key of a document.
func Describe(key Key, now time.Time) KeyInfo {
	list, err := entities(key.Armor)
	if err != nil || len(list) == 0 {
		return KeyInfo{ID: key.ID, Problem: "it is not an armoured OpenPGP public key"}
	}
	return describe(list[0], now)
}

func describe(entity *openpgp.Entity, now time.Time) KeyInfo {
	info := KeyInfo{
		ID:          entity.PrimaryKey.KeyIdString(),
		Fingerprint: fmt.Sprintf("%X", entity.PrimaryKey.Fingerprint),
		Created:     entity.PrimaryKey.CreationTime.UTC(),
		Revoked:     entity.Revoked(now),
	}
	for name := range entity.Identities {
		info.Names = append(info.Names, name)
	}
	slices.Sort(info.Names)
	self, _ := entity.PrimarySelfSignature()
	if self != nil && self.KeyLifetimeSecs != nil && *self.KeyLifetimeSecs > 0 {
		info.Expires = info.Created.Add(time.Duration(*self.KeyLifetimeSecs) * time.Second)
	}
	switch {
	case info.Revoked:
		info.Problem = "it is revoked"
	case self != nil && entity.PrimaryKey.KeyExpired(self, now):
		info.Problem = "it expired at " + info.Expires.Format(time.RFC3339)
	case !canSign(entity, now):
		info.Problem = "it cannot sign: it has no valid signing key"
	}
	return info
}

func canSign(entity *openpgp.Entity, now time.Time) bool {
	_, ok := entity.SigningKey(now)
	return ok
}

// SignatureError means that the list of checksums has no valid signature.
type SignatureError struct {
	Reason string
	// Expired is true if the signature is right, but its key has expired.
	Expired bool
}

func (e *SignatureError) Error() string { return e.Reason }

// Verify compares a detached signature, armoured or not, with the keys, and returns the fingerprint
// of the key that made it. The key must be valid at the time; with a zero time, an expired key is
// accepted, as OpenTofu does for releases that were signed before.
func Verify(keys []Key, sums, signature []byte, at time.Time) (signer string, err error) {
	ring := openpgp.EntityList{}
	for _, key := range keys {
		list, err := entities(key.Armor)
		if err != nil {
			return "", &SignatureError{Reason: fmt.Sprintf("the signing key %s cannot be read: %v", key.ID, err)}
		}
		ring = append(ring, list...)
	}
	check := openpgp.CheckDetachedSignature
	if bytes.HasPrefix(bytes.TrimSpace(signature), []byte("-----BEGIN")) {
		check = openpgp.CheckArmoredDetachedSignature
	}
	config := &packet.Config{}
	if !at.IsZero() {
		config.Time = func() time.Time { return at }
	}
	entity, err := check(ring, bytes.NewReader(sums), bytes.NewReader(signature), config)
	expired := errors.Is(err, openpgperrors.ErrKeyExpired) || errors.Is(err, openpgperrors.ErrSignatureExpired)
	switch {
	case err == nil, expired && at.IsZero() && entity != nil:
		return fmt.Sprintf("%X", entity.PrimaryKey.Fingerprint), nil
	case len(signature) == 0:
		return "", &SignatureError{Reason: "the list of checksums is not signed: the signature is empty"}
	case errors.Is(err, openpgperrors.ErrUnknownIssuer):
		return "", &SignatureError{Reason: "the list of checksums is signed by a key that is not one of " + names(keys)}
	case errors.Is(err, openpgperrors.ErrKeyRevoked):
		return "", &SignatureError{Reason: "the list of checksums is signed by a revoked key"}
	case expired:
		return "", &SignatureError{Reason: "the list of checksums is signed by an expired key", Expired: true}
	}
	return "", &SignatureError{Reason: fmt.Sprintf("the signature of the list of checksums is wrong: %v", err)}
}

func names(keys []Key) string {
	if len(keys) == 0 {
		return "the namespace's signing keys: there are none"
	}
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = key.ID
	}
	return "the signing keys " + strings.Join(ids, ", ")
}
