// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// seal encrypts sessions, so that only this server makes them: who can write Secrets in its namespace
// cannot become somebody else. The name of the Secret is part of what is authenticated, so a session
// cannot be copied to another cookie either.
type seal struct{ aead cipher.AEAD }

// newSeal returns the seal of a key of 32 bytes.
func newSeal(key []byte) (seal, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return seal{}, fmt.Errorf("use the key of sessions: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return seal{}, fmt.Errorf("use the key of sessions: %w", err)
	}
	return seal{aead}, nil
}

func (s seal) close(name string, data []byte) []byte {
	return s.aead.Seal(nil, nil, data, []byte(name))
}

var errSeal = errors.New("this server did not make this session")

func (s seal) open(name string, sealed []byte) ([]byte, error) {
	data, err := s.aead.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return nil, errSeal
	}
	return data, nil
}

// RandomKey returns a key for servers whose sessions need not survive them.
func RandomKey() []byte {
	const size = 32
	key := make([]byte, size)
	rand.Read(key) //nolint:errcheck // never fails, see its documentation
	return key
}
