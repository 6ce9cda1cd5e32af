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

// maxDataKey is far above what sops encrypts with a recipient: 32 bytes, or a share of them.
const maxDataKey = 1 << 10

// keyring answers sops with the keys of a request.
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

// errNoKey is the answer for every key that is none of ours; explain tells the user more.
var errNoKey = errors.New("no key for it")

// Decrypt answers sops' question for one share of a data key.
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

// Encrypt refuses: this side only opens.
func (k *keyring) Encrypt(context.Context, *keyservice.EncryptRequest) (*keyservice.EncryptResponse, error) {
	return nil, errors.New("nothing is encrypted here")
}

// dataKey opens the key with which a file's values are encrypted.
func (k *keyring) dataKey(metadata *sops.Metadata) ([]byte, error) {
	// sops is handed a fresh copy of the question: it would otherwise take a data key that it remembers.
	metadata.DataKey = nil
	key, err := metadata.GetDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewCustomLocalClient(k)}, nil)
	if err != nil {
		return nil, k.explain(metadata)
	}
	return key, nil
}

// explain says which keys a file wants and which there are.
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
		return fmt.Errorf("it is encrypted for %s, and only age keys are used here; add an age recipient with \"sops rotate --add-age\"", listed(others, "nobody"))
	}
	wanted := "it is encrypted for the age recipients " + strings.Join(recipients, ", ")
	if len(metadata.KeyGroups) > 1 {
		wanted += fmt.Sprintf(", in %d groups of which %d are needed", len(metadata.KeyGroups), metadata.ShamirThreshold)
	}
	switch {
	case k.From == "":
		return fmt.Errorf("%s, and spec.decryption.secretRef names no Secret with a key", wanted)
	case len(k.identities) == 0:
		unused := ""
		if len(k.Foreign) > 0 {
			unused = "; not used are " + strings.Join(k.Foreign, ", ")
		}
		return fmt.Errorf("%s, and %s has no entry *%s%s", wanted, k.From, decrypt.KeyExtension, unused)
	}
	return fmt.Errorf("%s, and %s has the keys of %s", wanted, k.From, listed(k.recipients, "none of them"))
}

// kindOf says in words what a key is that is no age key.
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

// mostNamed is how many recipients an error names: files choose them, and messages are kept in statuses.
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
