// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sopsfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/getsops/sops/v3"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// maxDataKey is far above the size of data keys: 32 bytes, or a share of them.
const maxDataKey = 1 << 10

// keyring is a key service of sops with the keys of a request.
type keyring struct {
	decrypt.KeyTexts
	identities []age.Identity
	recipients []string
}

func newKeyring(texts decrypt.KeyTexts) (*keyring, error) {
	k := &keyring{KeyTexts: texts}
	for _, text := range texts.Age {
		identities, err := age.ParseIdentities(bytes.NewReader(text))
		if err != nil {
			return nil, errors.New("a key of it is not a list of age identities") // the caller parsed it before
		}
		k.identities = append(k.identities, identities...)
	}
	for _, identity := range k.identities {
		switch identity := identity.(type) {
		case *age.X25519Identity:
			k.recipients = append(k.recipients, identity.Recipient().String())
		case *age.HybridIdentity:
			k.recipients = append(k.recipients, identity.Recipient().String())
		}
	}
	return k, nil
}

// errNoKey is replaced by explain.
var errNoKey = errors.New("no key for it")

// Decrypt decrypts one share of a data key.
func (k *keyring) Decrypt(_ context.Context, req *keyservice.DecryptRequest) (*keyservice.DecryptResponse, error) {
	if _, ok := req.GetKey().GetKeyType().(*keyservice.Key_AgeKey); !ok || len(k.identities) == 0 {
		return nil, errNoKey
	}
	plain, err := age.Decrypt(armor.NewReader(bytes.NewReader(req.GetCiphertext())), k.identities...)
	if err != nil {
		return nil, errNoKey
	}
	key, err := io.ReadAll(io.LimitReader(plain, maxDataKey))
	if err != nil {
		return nil, errNoKey
	}
	return &keyservice.DecryptResponse{Plaintext: key}, nil
}

// Encrypt is not supported.
func (k *keyring) Encrypt(context.Context, *keyservice.EncryptRequest) (*keyservice.EncryptResponse, error) {
	return nil, errors.New("encryption is not supported")
}

// dataKey decrypts the key of a file's values.
func (k *keyring) dataKey(metadata *sops.Metadata) ([]byte, error) {
	metadata.DataKey = nil // or sops would return it
	key, err := metadata.GetDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewCustomLocalClient(k)}, nil)
	if err != nil {
		return nil, k.explain(metadata)
	}
	return key, nil
}

// explain compares the keys that a file needs with the given ones.
func (k *keyring) explain(metadata *sops.Metadata) error {
	var recipients, others []string
	for _, group := range metadata.KeyGroups {
		for _, key := range group {
			if key, ok := key.(*sopsage.MasterKey); ok {
				recipients = append(recipients, key.Recipient)
				continue
			}
			others = append(others, kindOf(key))
		}
	}
	recipients, others = unique(recipients), unique(others)
	if len(recipients) == 0 {
		return fmt.Errorf("it is encrypted for %s, but only age keys are supported; add an age recipient with \"sops rotate --add-age\"", listed(others, "nobody"))
	}
	wanted := "it is encrypted for the age recipients " + strings.Join(recipients, ", ")
	if len(metadata.KeyGroups) > 1 {
		wanted += fmt.Sprintf(", in %d groups of which %d are needed", len(metadata.KeyGroups), metadata.ShamirThreshold)
	}
	switch {
	case k.From == "":
		return fmt.Errorf("%s, but spec.decryption.secretRef does not name a Secret with a key", wanted)
	case len(k.identities) == 0:
		unused := ""
		if len(k.Foreign) > 0 {
			unused = "; not supported are " + strings.Join(k.Foreign, ", ")
		}
		return fmt.Errorf("%s, but %s does not have an entry *%s%s", wanted, k.From, decrypt.KeyExtension, unused)
	}
	return fmt.Errorf("%s, but %s has the keys of %s", wanted, k.From, listed(k.recipients, "none of them"))
}

// kindOf returns the name of a key other than age.
func kindOf(key keys.MasterKey) string {
	names := map[string]string{
		"pgp": "OpenPGP", "kms": "AWS KMS", "gcp_kms": "Google Cloud KMS", "azure_kv": "Azure Key Vault",
		"hc_vault": "Vault", "hckms": "Huawei Cloud KMS",
	}
	kind := key.TypeToIdentifier()
	if name, ok := names[kind]; ok {
		return name
	}
	return kind
}

// mostNamed limits the recipients in an error, which becomes part of a status.
const mostNamed = 10

func unique(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		if len(name) > 100 {
			names[i] = name[:100] + "…"
		}
	}
	if len(names) > mostNamed {
		names = append(names[:mostNamed:mostNamed], "…")
	}
	return names
}

func listed(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}
