// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command oidc is an identity provider for tests: the one of zitadel/oidc, with its login page and two
// people, over TLS on this machine. The people are test-user@127.0.0.1 and test-user2, their password is
// "verysecure". The client yuba may come back to any port of this machine, and must prove who asked.
//
//	POST /control/rotate    signs with a new key, and forgets the old one
//	POST /control/stranger  signs with a key that it does not publish
//	POST /control/late      gives tokens that have expired, as with a wrong clock
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	address := flag.String("address", "127.0.0.1:9443", "where to listen")
	authority := flag.String("ca-file", "ca.crt", "where to write the authority of the certificate")
	secret := flag.String("secret", "correct horse", "the secret of the client yuba")
	flag.Parse()
	if err := run(*address, *authority, *secret); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, authority, secret string) error {
	certificate, err := newCertificate(authority)
	if err != nil {
		return err
	}
	issuer := "https://" + address
	storage.RegisterClients(storage.WebClient("yuba", secret, "http://127.0.0.1"))
	s := &store{Storage: storage.NewStorage(storage.NewUserStore(issuer)), lifetime: time.Hour}
	if err := s.rotate(true); err != nil {
		return err
	}
	mux := http.NewServeMux()
	control := func(do func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if err := do(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	mux.HandleFunc("POST /control/rotate", control(func() error { return s.rotate(true) }))
	mux.HandleFunc("POST /control/stranger", control(func() error { return s.rotate(false) }))
	mux.HandleFunc("POST /control/late", control(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lifetime = -time.Hour
		return nil
	}))
	// Browsers ask for it, and report that it is missing.
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("/", exampleop.SetupServer(issuer, s, slog.New(slog.NewTextHandler(os.Stderr, nil)), false))
	listener, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return err
	}
	fmt.Println("The provider is ready at", issuer)
	return http.Serve(listener, mux) //nolint:gosec // a test ends it
}

// store is the example's, with groups, and keys that change.
type store struct {
	*storage.Storage

	mu                 sync.Mutex
	signing, published *key
	lifetime           time.Duration
}

// rotate makes another key, and publishes it instead of the old one.
func (s *store) rotate(publish bool) error {
	const bits = 2048
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signing = &key{rand.Text(), private}
	if publish {
		s.published = s.signing
	}
	return nil
}

// key is a key with which tokens are signed.
type key struct {
	id      string
	private *rsa.PrivateKey
}

func (k *key) ID() string                                  { return k.id }
func (k *key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k *key) Key() any                                    { return k.private }

// public is its published half.
type public struct{ *key }

func (p public) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (p public) Use() string                        { return "sig" }
func (p public) Key() any                           { return &p.private.PublicKey }

func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signing, nil
}

func (s *store) KeySet(context.Context) ([]op.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []op.Key{public{s.published}}, nil
}

// SetUserinfoFromRequest adds the groups of a person.
func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string) error {
	err := s.Storage.SetUserinfoFromRequest(ctx, info, token, scopes)
	info.AppendClaims("groups", []string{"platform", "people"})
	return err
}

func (s *store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return client{c, s.lifetime}, nil
}

// client has the claims in its ID tokens, as those of most providers.
type client struct {
	op.Client
	lifetime time.Duration
}

func (client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c client) IDTokenLifetime() time.Duration     { return c.lifetime }
func (client) RedirectURIGlobs() []string           { return []string{"http://127.0.0.1:*/login/oidc/callback"} }
func (client) PostLogoutRedirectURIGlobs() []string { return nil }

// newCertificate makes a certificate of this machine, and writes it as its own authority.
func newCertificate(authority string) (tls.Certificate, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "provider for tests"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return tls.Certificate{}, err
	}
	err = os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}
