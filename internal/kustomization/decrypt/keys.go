// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/getsops/sops/v3"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
)

// Provider is the only value of spec.decryption.provider.
const Provider = "sops"

// keyExtension marks the entries of a Secret that are age keys.
const keyExtension = ".agekey"

// maxDataKey is far above what sops encrypts with a recipient: 32 bytes, or a share of them.
const maxDataKey = 1 << 10

// foreign are the entries of a Secret with which Flux decrypts and which are of no use here.
var foreign = map[string]string{
	".asc":         "an OpenPGP key",
	".vault-token": "a token of Vault or OpenBao",
	".aws-kms":     "credentials of AWS KMS",
	".azure-kv":    "credentials of Azure Key Vault",
	".gcp-kms":     "credentials of Google Cloud KMS",
	".hckms":       "credentials of Huawei Cloud KMS",
}

// Keys open what was encrypted for them.
type Keys struct {
	from       string
	identities []age.Identity
	recipients []string
	foreign    []string
}

// NewKeys reads the keys among a Secret's data. from names the Secret in errors; empty when the Kustomization names none.
func NewKeys(from string, data map[string][]byte) (*Keys, error) {
	k := &Keys{from: from}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		extension := path.Ext(name)
		if what, ok := foreign[extension]; ok {
			k.foreign = append(k.foreign, fmt.Sprintf("%s (%s)", name, what))
		}
		if extension != keyExtension {
			continue
		}
		identities, err := age.ParseIdentities(bytes.NewReader(data[name]))
		if err != nil {
			// The parser's own words may quote the key.
			return nil, fmt.Errorf("keys of spec.decryption: entry %q of %s is not a list of age identities, lines that begin with AGE-SECRET-KEY-; plugins' identities are not read",
				name, from)
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
func (k *Keys) Decrypt(_ context.Context, req *keyservice.DecryptRequest) (*keyservice.DecryptResponse, error) {
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
func (k *Keys) Encrypt(context.Context, *keyservice.EncryptRequest) (*keyservice.EncryptResponse, error) {
	return nil, errors.New("nothing is encrypted here")
}

// dataKey opens the key with which a file's values are encrypted.
func (k *Keys) dataKey(metadata *sops.Metadata) ([]byte, error) {
	// sops is handed a fresh copy of the question: it would otherwise take a data key that it remembers.
	metadata.DataKey = nil
	key, err := metadata.GetDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewCustomLocalClient(k)}, nil)
	if err != nil {
		return nil, k.explain(metadata)
	}
	return key, nil
}

// explain says which keys a file wants and which there are.
func (k *Keys) explain(metadata *sops.Metadata) error {
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
	case k.from == "":
		return fmt.Errorf("%s, and spec.decryption.secretRef names no Secret with a key", wanted)
	case len(k.identities) == 0:
		unused := ""
		if len(k.foreign) > 0 {
			unused = "; not used are " + strings.Join(k.foreign, ", ")
		}
		return fmt.Errorf("%s, and %s has no entry *%s%s", wanted, k.from, keyExtension, unused)
	}
	return fmt.Errorf("%s, and %s has the keys of %s", wanted, k.from, listed(k.recipients, "none of them"))
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
