// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

// A file of a repository cannot send the caller's credentials to a host of its choice.
func TestCredentialsGoToAddressesOfTheCaller(t *testing.T) {
	vault := func(address string) declare.Store {
		return declare.Store{Vault: &declare.Vault{Address: address, Path: "shop"}}
	}
	ssm := func(endpoint string) declare.Store {
		return declare.Store{SSM: &declare.SSM{Name: "/shop", Region: "eu-central-1", Endpoint: endpoint}}
	}
	const address = "https://vault.example.com:8200"
	for sentence, test := range map[string]struct {
		store          declare.Store
		vaultAddr, ssm string
		trusted        []string
		refused        bool
	}{
		"Vault, and no variable":          {store: vault(address), refused: true},
		"Vault at VAULT_ADDR":             {store: vault(address), vaultAddr: "https://Vault.example.com:8200/"},
		"Vault elsewhere":                 {store: vault("https://evil.example"), vaultAddr: address, refused: true},
		"Vault at another port":           {store: vault("https://vault.example.com"), vaultAddr: address, refused: true},
		"Vault at the default port":       {store: vault("https://vault.example.com:443"), vaultAddr: "https://vault.example.com"},
		"Vault below another path":        {store: vault(address + "/evil"), vaultAddr: address, refused: true},
		"Vault without TLS":               {store: vault("http://vault.example.com:8200"), vaultAddr: address, refused: true},
		"Vault on loopback, not named":    {store: vault("http://127.0.0.1:8200"), refused: true},
		"Vault that the caller trusts":    {store: vault(address), trusted: []string{"https://other.example", address}},
		"AWS":                             {store: ssm("")},
		"AWS elsewhere":                   {store: ssm("https://evil.example"), refused: true},
		"AWS elsewhere, Vault is another": {store: ssm(address), vaultAddr: address, refused: true},
		"AWS at its variable":             {store: ssm("https://ssm.example"), ssm: "https://ssm.example"},
		"AWS on loopback":                 {store: ssm("http://127.0.0.1:4566")},
		"AWS that the caller trusts":      {store: ssm("https://ssm.example"), trusted: []string{"https://ssm.example"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Setenv("VAULT_ADDR", test.vaultAddr)
			t.Setenv("AWS_ENDPOINT_URL_SSM", test.ssm)
			t.Setenv("VAULT_TOKEN", "hunter2")
			t.Setenv("AWS_ACCESS_KEY_ID", "id")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
			o := &opener{trusted: test.trusted}
			_, err := o.place(test.store)
			if (err != nil) != test.refused {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), "only sent to addresses that you name yourself") || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
