// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/web/access"
)

const (
	// patience limits a request to the provider, and fresh is how long what was discovered is used.
	patience = 10 * time.Second
	fresh    = time.Hour
	// maxExplanation bounds what a provider's own words may take of a sentence.
	maxExplanation = 300
)

// Options are a provider, and who this server is for it.
type Options struct {
	// Issuer is the provider's URL. It is part of every token.
	Issuer string
	// ClientID names this server, and the file has its secret; empty for a client without one.
	ClientID, ClientSecretFile string
	// Scopes are asked for. openid is always one of them.
	Scopes []string
	Claims Claims
	// CAFile has the authorities that the provider's certificate may be from; empty for the system's.
	CAFile string
	Now    func() time.Time
}

// Provider is an identity provider.
type Provider struct {
	Options
	client *http.Client

	mu         sync.Mutex
	discovered *oidc.Provider
	until      time.Time
}

// New returns a provider. It asks nothing of it yet.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Scheme != "https" || issuer.Host == "" || issuer.User != nil || issuer.RawQuery != "" || issuer.Fragment != "" {
		return nil, fmt.Errorf("--web-oidc-issuer %q: expected the provider's URL, such as https://accounts.example.com", o.Issuer)
	}
	if o.ClientID == "" {
		return nil, errors.New("--web-oidc-issuer needs --web-oidc-client-id: the name that the provider has given this server")
	}
	if o.ClientSecretFile != "" {
		if _, err := readSecret(o.ClientSecretFile); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(o.Scopes, oidc.ScopeOpenID) {
		o.Scopes = append([]string{oidc.ScopeOpenID}, o.Scopes...)
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	transport = transport.Clone()
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--web-oidc-ca-file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--web-oidc-ca-file %s has no certificate in PEM form", o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &Provider{Options: o, client: &http.Client{Transport: transport, Timeout: patience}}, nil
}

func readSecret(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--web-oidc-client-secret-file: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", fmt.Errorf("--web-oidc-client-secret-file %s is empty", file)
	}
	return secret, nil
}

// Host is the provider's host, by which people know it.
func (p *Provider) Host() string {
	u, err := url.Parse(p.Issuer)
	if err != nil {
		return p.Issuer // cannot happen: New has parsed it
	}
	return u.Host
}

// Flow is one login on its way.
type Flow struct {
	// State comes back with the browser, and Nonce in the token. Verifier proves that who takes the
	// code is who asked for it.
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Problem is why a login failed: Says is for the person, the cause for the log.
type Problem struct {
	Says  string
	Cause error
}

func (p *Problem) Error() string {
	if p.Cause == nil {
		return p.Says
	}
	return p.Says + ": " + diagnostic.Printable(p.Cause.Error())
}

func (p *Problem) Unwrap() error { return p.Cause }

// Begin returns the address at which the provider asks who the person is, and the flow that their
// browser must bring back to redirect.
func (p *Provider) Begin(ctx context.Context, redirect string) (string, Flow, error) {
	config, _, err := p.config(ctx, redirect)
	if err != nil {
		return "", Flow{}, err
	}
	f := Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return config.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), f, nil
}

// Finish returns the person of a flow, from what their browser brought back to redirect.
func (p *Provider) Finish(ctx context.Context, redirect string, f Flow, brought url.Values) (access.Person, error) {
	// First of all: whoever does not know the state may have made up the rest, too.
	if f.State == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(brought.Get("state"))) != 1 {
		return access.Person{}, &Problem{Says: "This login was not begun in this browser, or another one was begun since. Begin again"}
	}
	if code := brought.Get("error"); code != "" {
		return access.Person{}, p.refused(code, brought.Get("error_description"))
	}
	config, discovered, err := p.config(ctx, redirect)
	if err != nil {
		return access.Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := config.Exchange(ctx, brought.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return access.Person{}, p.notExchanged(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return access.Person{}, &Problem{Says: p.Host() + " sent no ID token. It may not know this server as a client of OpenID Connect"}
	}
	verified, err := discovered.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.Now}).Verify(ctx, raw)
	if err != nil {
		return access.Person{}, p.notVerified(err)
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(f.Nonce)) != 1 {
		return access.Person{}, &Problem{Says: "The ID token of " + p.Host() + " is for another login. Begin again"}
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return access.Person{}, &Problem{Says: "The ID token of " + p.Host() + " cannot be read", Cause: err}
	}
	person, err := p.Claims.Person(p.Issuer, claims)
	if err != nil {
		return access.Person{}, &Problem{Says: p.Host() + " did not say who you are in a way that counts here: " + err.Error()}
	}
	return person, nil
}

// config discovers the provider, and returns this server as its client.
func (p *Provider) config(ctx context.Context, redirect string) (*oauth2.Config, *oidc.Provider, error) {
	discovered, err := p.discover(ctx)
	if err != nil {
		return nil, nil, err
	}
	config := &oauth2.Config{ClientID: p.ClientID, Endpoint: discovered.Endpoint(), RedirectURL: redirect, Scopes: p.Scopes}
	if p.ClientSecretFile != "" {
		// Each time: secrets rotate.
		if config.ClientSecret, err = readSecret(p.ClientSecretFile); err != nil {
			return nil, nil, &Problem{Says: "This server cannot read its client secret. See its log", Cause: err}
		}
	}
	return config, discovered, nil
}

func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.discovered != nil && p.Now().Before(p.until) {
		return p.discovered, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	switch {
	case err == nil:
		p.discovered, p.until = found, p.Now().Add(fresh)
	case p.discovered != nil: // what was known is better than nothing
	default:
		return nil, p.notDiscovered(err)
	}
	return p.discovered, nil
}
