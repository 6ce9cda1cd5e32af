// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package sopstest encrypts files for tests with the library of the command sops.
package sopstest

import (
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"
)

// Options configure the encryption.
type Options struct {
	// Format is yaml, json, dotenv, ini or binary; the default is yaml.
	Format string
	// Groups are groups of keys; decryption requires one key of each group.
	Groups []sops.KeyGroup
	// Regex matches the keys of encrypted values; the default is all.
	Regex string
	// OnlyEncrypted excludes plain values from the message authentication code.
	OnlyEncrypted bool
}

// Identity returns a new key.
func Identity(t testing.TB) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// For returns a group with the keys of all identities.
func For(t testing.TB, identities ...*age.X25519Identity) sops.KeyGroup {
	t.Helper()
	var group sops.KeyGroup
	for _, identity := range identities {
		key, err := sopsage.MasterKeyFromRecipient(identity.Recipient().String())
		if err != nil {
			t.Fatal(err)
		}
		group = append(group, key)
	}
	return group
}

// Store returns the reader and writer of a format.
func Store(format string) sops.Store {
	c := config.NewStoresConfig()
	switch format {
	case "dotenv":
		return dotenv.NewStore(&c.Dotenv)
	case "ini":
		return ini.NewStore(&c.INI)
	case "json":
		return json.NewStore(&c.JSON)
	case "binary":
		return json.NewBinaryStore(&c.JSONBinary)
	}
	return yaml.NewStore(&c.YAML)
}

// Encrypt encrypts a file.
func Encrypt(t testing.TB, plain string, o Options) []byte {
	t.Helper()
	store := Store(o.Format)
	branches, err := store.LoadPlainFile([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	tree := sops.Tree{Branches: branches, Metadata: sops.Metadata{KeyGroups: o.Groups, EncryptedRegex: o.Regex, MACOnlyEncrypted: o.OnlyEncrypted, Version: "3.13.2"}}
	key, errs := tree.GenerateDataKeyWithKeyServices([]keyservice.KeyServiceClient{keyservice.NewLocalClient()})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	cipher := aes.NewCipher()
	code, err := tree.Encrypt(key, cipher)
	if err != nil {
		t.Fatal(err)
	}
	tree.Metadata.LastModified = time.Now().UTC()
	if tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(code, key, tree.Metadata.LastModified.Format(time.RFC3339)); err != nil {
		t.Fatal(err)
	}
	out, err := store.EmitEncryptedFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
