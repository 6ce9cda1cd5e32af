// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

const environment = `
store: {kubernetes: {name: s}}
secrets:
  db: {password: {length: 12, symbols: "-_"}}
  api: {token: {bytes: 16, encoding: hex, prefix: sk_}}
  url: {token: {}}
  rsa: {keyPair: {algorithm: rsa-3072}}
  ed: {keyPair: {ssh: true}}
  ca: {certificate: {commonName: CA, ca: true, validFor: 20d}}
  web: {certificate: {dnsNames: [web.example.com], ipAddresses: [127.0.0.1], signedBy: ca, validFor: 30d}}
`

func read(t *testing.T) *declare.File {
	t.Helper()
	f, err := declare.Read("secrets.yaml", []byte(environment))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func valuesOf(made []decide.Made) map[string]decide.Value {
	values := map[string]decide.Value{}
	for _, m := range made {
		for part, value := range m.Values {
			values[part] = value
		}
	}
	return values
}

func TestValuesAreAsDeclared(t *testing.T) {
	f, now := read(t), time.Now()
	var names []string
	for _, s := range f.Secrets {
		names = append(names, s.Name)
	}
	for range 20 { // passwords differ
		made, err := All(f, []string{"db"}, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		password := made[0].Values["db"].Reveal()
		if len(password) != 12 || !strings.ContainsAny(password, lower) || !strings.ContainsAny(password, upper) || !strings.ContainsAny(password, digits) || !strings.ContainsAny(password, "-_") {
			t.Errorf("the password %q lacks a class", password)
		}
	}
	made, err := All(f, names, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	values := valuesOf(made)
	for _, m := range made {
		for _, part := range m.Entry.Parts {
			if values[part] == "" {
				t.Errorf("%s is empty", part)
			}
		}
	}
	if token := values["api"].Reveal(); len(token) != 3+32 || !strings.HasPrefix(token, "sk_") {
		t.Errorf("the token is %q", token)
	}
	for _, name := range []string{"rsa", "ed"} {
		block, _ := pem.Decode([]byte(values[name+"_private"].Reveal()))
		if _, err := x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
			t.Error(err)
		}
	}
	if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(values["ed_ssh"].Reveal())); err != nil {
		t.Error(err)
	}
	checkChain(t, values, now)
}

func checkChain(t *testing.T, values map[string]decide.Value, now time.Time) {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(values["web_certificate"].Reveal()), []byte(values["web_key"].Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(values["web_ca"].Reveal())) {
		t.Fatal("there is no authority")
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"web.example.com", "127.0.0.1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			t.Error(err)
		}
	}
	if want := now.UTC().Truncate(time.Second).Add(20 * 24 * time.Hour); !leaf.NotAfter.Equal(want) {
		t.Errorf("it ends at %s, and its signer at %s", leaf.NotAfter, want)
	}
}

func TestACertificateIsSignedByTheStoredSigner(t *testing.T) {
	f, now := read(t), time.Now()
	authority, err := All(f, []string{"ca"}, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	stored := valuesOf(authority)
	web, err := All(f, []string{"web"}, stored, now)
	if err != nil {
		t.Fatal(err)
	}
	values := valuesOf(web)
	if values["web_ca"] != stored["ca_certificate"] {
		t.Error("the authority is another one")
	}
	checkChain(t, values, now)
	_, err = All(f, []string{"web"}, stored, now.Add(21*24*time.Hour))
	if err == nil || !strings.Contains(err.Error(), "the certificate of its signer ca expired") {
		t.Errorf("got %v", err)
	}
	stored["ca_key"] = "hunter2"
	_, err = All(f, []string{"web"}, stored, now)
	if err == nil || err.Error() != "make secret web: its signer ca does not have a usable key in the store; rotate both" {
		t.Errorf("got %v", err)
	}
}
