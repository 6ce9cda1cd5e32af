// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/fluxcd/pkg/git/signature"
)

// PGPSigner returns a function that signs commits with the only key of an armored keyring. Its errors do
// not quote the key.
func PGPSigner(keyring, passphrase []byte) (func(payload []byte) (string, error), error) {
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(keyring))
	if err != nil || len(entities) != 1 || entities[0].PrivateKey == nil {
		return nil, errors.New("git.asc must have exactly one armored OpenPGP key with its private part; export it with:\n    gpg --export-secret-keys --armor KEY")
	}
	entity := entities[0]
	if entity.PrivateKey.Encrypted {
		if len(passphrase) == 0 {
			return nil, errors.New("the key in git.asc is encrypted, but the Secret has no passphrase")
		}
		if err := entity.DecryptPrivateKeys(passphrase); err != nil {
			return nil, errors.New("the passphrase does not decrypt the key in git.asc")
		}
	}
	signer, err := signature.NewOpenPGPSigner(entity)
	if err != nil {
		return nil, errors.New("the key in git.asc cannot sign")
	}
	return signing(signer), nil
}

// SSHSigner returns a function that signs commits with an SSH key.
func SSHSigner(identity, password []byte) (func(payload []byte) (string, error), error) {
	signer, err := signature.NewSSHSigner(identity, password)
	switch {
	case errors.Is(err, signature.ErrSSHPassphraseRequired):
		return nil, errors.New("the key in identity is encrypted, but the Secret has no password")
	case err != nil:
		return nil, errors.New("identity is not a private SSH key that can sign (ed25519, ecdsa, or rsa with at least 2048 bits), or the password is wrong")
	}
	return signing(signer), nil
}

func signing(signer signature.Signer) func(payload []byte) (string, error) {
	return func(payload []byte) (string, error) {
		signed, err := signer.Sign(bytes.NewReader(payload))
		return strings.TrimRight(string(signed), "\n"), err
	}
}
