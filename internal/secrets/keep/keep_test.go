// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package keep_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt/sopsfile"
	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
	"github.com/yuba-dev/yuba/internal/testkit/cloudtest"
	"github.com/yuba-dev/yuba/internal/testkit/secretstest"
	"github.com/yuba-dev/yuba/internal/testkit/sopstest"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
)

// cipher calls the library of yuba-sops in this process.
type cipher struct{ identity *age.X25519Identity }

func (c *cipher) Open(_ context.Context, content []byte) ([]byte, error) {
	return sopsfile.Open(decrypt.Request{Data: content, From: decrypt.YAML, To: decrypt.YAML, Verify: true,
		Keys: decrypt.KeyTexts{From: "the test", Age: [][]byte{[]byte(c.identity.String())}}})
}

func (c *cipher) Seal(_ context.Context, plain []byte, recipients []string) ([]byte, error) {
	return sopsfile.Seal(decrypt.Request{Data: plain, From: decrypt.YAML, To: decrypt.YAML, Recipients: recipients})
}

func newSOPS(t *testing.T) *keep.SOPS {
	identity := sopstest.Identity(t)
	return &keep.SOPS{Path: filepath.Join(t.TempDir(), "secrets", "shop.yaml"), Label: "secrets/shop.yaml", Recipients: []string{identity.Recipient().String()}, Cipher: &cipher{identity}}
}

func TestPlaces(t *testing.T) {
	s, google, azure := ssmtest.New(t), cloudtest.NewGoogle(t), cloudtest.NewAzure(t)
	key, err := remote.NewGoogleKey(google.Key, remote.Any())
	if err != nil {
		t.Fatal(err)
	}
	aws := store.AWS{Region: ssmtest.Region, Endpoint: s.URL, Keys: store.Keys{ID: ssmtest.AccessKey, Secret: ssmtest.SecretKey}}
	principal := &remote.AzurePrincipal{Tenant: cloudtest.Tenant, ClientID: cloudtest.ClientID, Secret: cloudtest.ClientSecret, Authority: azure.URL, Resource: cloudtest.Resource, Client: remote.Any()}
	for name, place := range map[string]keep.Place{
		"secrets manager": &keep.JSON{Store: &remote.AWSDocument{Secret: "shop/staging", SecretsManager: remote.SecretsManager{AWS: aws}}},
		"google": &keep.JSON{Store: &remote.GoogleDocument{Secret: "shop-staging",
			Google: remote.Google{Project: cloudtest.Project, Endpoint: google.URL, Token: key, Client: remote.Any()}}},
		"azure": &keep.JSON{Store: &remote.AzureDocument{Secret: "shop-staging", Azure: remote.Azure{URL: azure.URL, Token: principal, Client: remote.Any()}}},
		"sops":  newSOPS(t),
		"ssm":   &keep.JSON{Store: &store.SSM{Parameter: "/shop/staging", Region: ssmtest.Region, Endpoint: s.URL, Keys: store.Keys{ID: ssmtest.AccessKey, Secret: ssmtest.SecretKey}}},
	} {
		t.Run(name, func(t *testing.T) { secretstest.Conform(t, place) })
	}
}

func TestAFileOfSopsShowsAgesAndNoValues(t *testing.T) {
	p := newSOPS(t)
	if err := p.Write(t.Context(), secretstest.Document(), ""); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(content); strings.Contains(text, "quoted") || !strings.Contains(text, "2026-03-01T12:00:00Z") || strings.Count(text, "ENC[AES256_GCM,") != 3 {
		t.Errorf("the file is\n%s", text)
	}
	entries, err := os.ReadDir(filepath.Dir(p.Path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the file there is %v, %v", entries, err)
	}
	if err := os.WriteFile(p.Path, []byte(strings.Replace(string(content), "2026-03-01", "2027-03-01", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "decrypt sops file secrets/shop.yaml: its message authentication code does not match") {
		t.Errorf("an edited file is read: %v", err)
	}
	p.Cipher = &cipher{sopstest.Identity(t)}
	if _, _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "it is encrypted for the age recipients") {
		t.Errorf("without the key: %v", err)
	}
}

func TestNothingSecretIsReadableInAFileOfSops(t *testing.T) {
	for _, name := range []string{"api_unencrypted", "yuba_unencrypted"} {
		p, d := newSOPS(t), secretstest.Document()
		d.Values[name] = "hunter2"
		if err := p.Write(t.Context(), d, ""); err == nil || !strings.Contains(err.Error(), "sops would not encrypt the value of "+name) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(p.Path); !os.IsNotExist(err) {
			t.Errorf("%s: there is a file, %v", name, err)
		}
	}
	p, d := newSOPS(t), decide.Fail(secretstest.Document(), "password hunter2 is wrong", time.Now())
	if err := p.Write(t.Context(), d, ""); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(p.Path)
	if err != nil || strings.Contains(string(content), "hunter2") {
		t.Errorf("the file is\n%s, %v", content, err)
	}
	if got, _, err := p.Read(t.Context()); err != nil || got.Book.Rotation.Failed.String() != "a/x failed" || d.Book.Rotation.Failed.Message == "" {
		t.Errorf("got %+v, %v", got.Book.Rotation, err)
	}
}

// A copy of a failed rotation, too, is written only once, as its book never has the message.
func TestCopiesDoNotHaveMessages(t *testing.T) {
	p, d := newSOPS(t), decide.Fail(secretstest.Document(), "password hunter2 is wrong", time.Now())
	for i, want := range []bool{true, false} {
		if changed, err := keep.Mirror(t.Context(), d, p); err != nil || changed != want {
			t.Errorf("copy %d: changed %v, %v", i, changed, err)
		}
	}
}

func TestWhatIsNotOursIsNotRead(t *testing.T) {
	s := ssmtest.New(t)
	place := &keep.JSON{Store: &store.SSM{Parameter: "/p", Region: ssmtest.Region, Endpoint: s.URL, Keys: store.Keys{ID: ssmtest.AccessKey, Secret: ssmtest.SecretKey}}}
	for content, want := range map[string]string{
		`hunter2`:                      "it is not a JSON object with texts",
		`{"a": {"b": "hunter2"}}`:      "it is not a JSON object with texts",
		`{"_yuba": "hunter2"}`:         "its book about the secrets cannot be read",
		`{"_yuba": "{\"version\":9}"}`: "a newer Yuba wrote it",
	} {
		s.Set("/p", content)
		_, _, err := place.Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", content, err)
		}
	}
}
