// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sopsfile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/keyservice"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// unencryptedSuffix is the default of the command sops.
const unencryptedSuffix = "_unencrypted"

// sopsVersion is the version of the library, which files name.
const sopsVersion = "3.13.2"

// Seal encrypts a file for the recipients of a request, with a new data key.
func Seal(r decrypt.Request) ([]byte, error) {
	store := storeOf(r.To)
	branches, err := store.LoadPlainFile(r.Data)
	if err != nil {
		return nil, fmt.Errorf("the plain file is not %s", r.To) // the error may quote it
	}
	var group sops.KeyGroup
	for _, text := range r.Recipients {
		key, err := sopsage.MasterKeyFromRecipient(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a public key of age", text)
		}
		group = append(group, key)
	}
	tree := sops.Tree{Branches: branches, Metadata: sops.Metadata{KeyGroups: []sops.KeyGroup{group}, UnencryptedSuffix: unencryptedSuffix, Version: sopsVersion}}
	key, problems := tree.GenerateDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewCustomLocalClient(sealer{})})
	if len(problems) > 0 {
		return nil, fmt.Errorf("encrypt the data key: %w", errors.Join(problems...))
	}
	cipher := aes.NewCipher()
	code, err := tree.Encrypt(key, cipher)
	if err != nil {
		return nil, errors.New("a value cannot be encrypted") // the error may quote it
	}
	tree.Metadata.LastModified = time.Now().UTC()
	if tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(code, key, tree.Metadata.LastModified.Format(time.RFC3339)); err != nil {
		return nil, errors.New("the message authentication code cannot be encrypted")
	}
	sealed, err := store.EmitEncryptedFile(tree)
	if err != nil {
		return nil, fmt.Errorf("the encrypted file cannot be written as %s", r.To)
	}
	return sealed, nil
}

// sealer is a key service of sops that encrypts for age recipients, and knows no key of this machine.
type sealer struct{}

// Encrypt encrypts a data key for one recipient.
func (sealer) Encrypt(_ context.Context, req *keyservice.EncryptRequest) (*keyservice.EncryptResponse, error) {
	key, ok := req.GetKey().GetKeyType().(*keyservice.Key_AgeKey)
	if !ok {
		return nil, errors.New("only age keys are supported")
	}
	if _, err := age.ParseRecipients(strings.NewReader(key.AgeKey.GetRecipient())); err != nil {
		return nil, fmt.Errorf("%q is not a public key of age: %w", key.AgeKey.GetRecipient(), err)
	}
	master := &sopsage.MasterKey{Recipient: key.AgeKey.GetRecipient()}
	if err := master.Encrypt(req.GetPlaintext()); err != nil {
		return nil, err
	}
	return &keyservice.EncryptResponse{Ciphertext: []byte(master.EncryptedKey)}, nil
}

// Decrypt is not supported.
func (sealer) Decrypt(context.Context, *keyservice.DecryptRequest) (*keyservice.DecryptResponse, error) {
	return nil, errNoKey
}
