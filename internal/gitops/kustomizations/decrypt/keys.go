// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"

	"filippo.io/age"
)

// Provider is the only value of spec.decryption.provider.
const Provider = "sops"

// KeyExtension marks the entries of a Secret that are age keys.
const KeyExtension = ".agekey"

// foreign are the keys of a Secret that Flux supports, but Yuba does not.
var foreign = map[string]string{
	".asc":         "an OpenPGP key",
	".vault-token": "a token of Vault or OpenBao",
	".aws-kms":     "credentials of AWS KMS",
	".azure-kv":    "credentials of Azure Key Vault",
	".gcp-kms":     "credentials of Google Cloud KMS",
	".hckms":       "credentials of Huawei Cloud KMS",
}

// Keys decrypt files and objects.
type Keys struct {
	texts  KeyTexts
	opener Opener
}

// NewKeys reads the keys in a Secret's data. from names the Secret in errors.
func NewKeys(from string, data map[string][]byte, opener Opener) (*Keys, error) {
	k := &Keys{texts: KeyTexts{From: from}, opener: opener}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		extension := path.Ext(name)
		if what, ok := foreign[extension]; ok {
			k.texts.Foreign = append(k.texts.Foreign, fmt.Sprintf("%s (%s)", name, what))
		}
		if extension != KeyExtension {
			continue
		}
		if _, err := age.ParseIdentities(bytes.NewReader(data[name])); err != nil {
			// The parser's error may quote the key.
			return nil, fmt.Errorf("keys of spec.decryption: entry %q of %s is not a list of age identities, lines that begin with AGE-SECRET-KEY-; identities of plugins are not supported",
				name, from)
		}
		k.texts.Age = append(k.texts.Age, data[name])
	}
	return k, nil
}
