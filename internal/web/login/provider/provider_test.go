// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/oidctest"
	"github.com/yuba-dev/yuba/internal/web/access"
)

const back = "https://yuba.example.com/login/oidc/callback"

// client returns a client of a provider.
func client(t *testing.T, at *oidctest.Provider, change ...func(*Options)) *Provider {
	t.Helper()
	secret, authority := at.Files(t)
	o := Options{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecretFile: secret, CAFile: authority, Scopes: []string{"email"},
		Claims: Claims{Username: "email", Groups: "groups", GroupsPrefix: "oidc:"}, Now: time.Now}
	for _, c := range change {
		c(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// visit is a browser at the provider: what it brings back.
func visit(t *testing.T, at *oidctest.Provider, address string) url.Values {
	t.Helper()
	browser := at.Client()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	to, err := response.Location()
	if err != nil || !strings.HasPrefix(to.String(), back+"?") {
		t.Fatalf("the provider leads to %v, %v", to, err)
	}
	return to.Query()
}

func login(t *testing.T, p *Provider, at *oidctest.Provider) (access.Person, error) {
	t.Helper()
	address, flow, err := p.Begin(t.Context(), back)
	if err != nil {
		return access.Person{}, err
	}
	return p.Finish(t.Context(), back, flow, visit(t, at, address))
}

func TestALogin(t *testing.T) {
	at := oidctest.New(t)
	who, err := login(t, client(t, at), at)
	if err != nil || who.Name != "ada@example.com" || strings.Join(who.Groups, " ") != "oidc:platform system:authenticated" || who.Display != "Ada Lovelace" {
		t.Errorf("logged in %+v, %v", who, err)
	}
}

// Each failure says whose it is, and logs nobody in.
func TestFailedLogins(t *testing.T) {
	at := oidctest.New(t)
	for sentence, c := range map[string]struct {
		faults oidctest.Faults
		change func(*Options)
		want   string
	}{
		"the person cancels":           {oidctest.Faults{Refuse: "access_denied"}, nil, "does not let you in here, or you cancelled"},
		"an error with a trick":        {oidctest.Faults{Refuse: "odd", Description: "call \u202e555 <b>now</b>\n!"}, nil, `with the error "odd". It says: "call \\u202e555 <b>now</b> !"`},
		"a wrong secret":               {oidctest.Faults{}, wrongSecret(t), "does not accept the client ID or secret"},
		"a code that is too old":       {oidctest.Faults{RefuseCode: "invalid_grant"}, nil, "Begin again"},
		"no ID token":                  {oidctest.Faults{NoToken: true}, nil, "sent no ID token"},
		"a key of somebody else":       {oidctest.Faults{OtherKey: true}, nil, "is not valid for this server"},
		"a token for another client":   {oidctest.Faults{Claims: claimSet{"aud": "other"}}, nil, "is not valid for this server"},
		"a token of another issuer":    {oidctest.Faults{Claims: claimSet{"iss": "https://evil.example"}}, nil, "is not valid for this server"},
		"a token for another login":    {oidctest.Faults{Claims: claimSet{"nonce": "other"}}, nil, "is for another login"},
		"an old token":                 {oidctest.Faults{Claims: claimSet{"exp": 1}}, nil, "has expired already"},
		"a claim that is missing":      {oidctest.Faults{Claims: claimSet{"email": nil}}, nil, "--web-oidc-username-claim"},
		"a group that is not its own":  {oidctest.Faults{Claims: claimSet{"groups": []string{"system:masters"}}}, func(o *Options) { o.Claims.GroupsPrefix = "" }, `"system:masters"`},
		"a provider that is away":      {oidctest.Faults{Down: true}, nil, "does not answer as an identity provider"},
		"another name in its document": {oidctest.Faults{Issuer: "https://other.example"}, nil, "the same to the letter"},
		"a certificate of nobody":      {oidctest.Faults{}, func(o *Options) { o.CAFile = "" }, "--web-oidc-ca-file"},
	} {
		t.Run(sentence, func(t *testing.T) {
			at.Behave(c.faults)
			defer at.Behave(oidctest.Faults{})
			p := client(t, at, func(o *Options) {
				if c.change != nil {
					c.change(o)
				}
			})
			who, err := login(t, p, at)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("logged in %+v, error %v, want one that says %q", who, err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), oidctest.Secret) || strings.Contains(err.Error(), "code=")) {
				t.Errorf("the error has a secret: %v", err)
			}
		})
	}
}

func wrongSecret(t *testing.T) func(*Options) {
	return func(o *Options) {
		o.ClientSecretFile = t.TempDir() + "/secret"
		if err := os.WriteFile(o.ClientSecretFile, []byte("guess"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What a browser brings counts only with the flow that it began.
func TestFlowsCannotBeMixed(t *testing.T) {
	at := oidctest.New(t)
	p := client(t, at)
	address, mine, err := p.Begin(t.Context(), back)
	if err != nil {
		t.Fatal(err)
	}
	brought := visit(t, at, address)
	_, other, err := p.Begin(t.Context(), back)
	if err != nil {
		t.Fatal(err)
	}
	made := url.Values{"error": {"access_denied"}, "error_description": {"made up"}}
	for sentence, c := range map[string]struct {
		flow    Flow
		brought url.Values
	}{
		"another flow":         {other, brought},
		"no flow":              {Flow{}, brought},
		"no state":             {mine, url.Values{"code": brought["code"]}},
		"neither":              {Flow{}, url.Values{"code": brought["code"]}},
		"an error of somebody": {mine, made},
	} {
		if who, err := p.Finish(t.Context(), back, c.flow, c.brought); err == nil || !strings.Contains(err.Error(), "Begin again") {
			t.Errorf("%s: %+v, %v", sentence, who, err)
		}
	}
	stolen := mine
	stolen.Verifier = other.Verifier
	if who, err := p.Finish(t.Context(), back, stolen, brought); err == nil || !strings.Contains(err.Error(), "used already or has expired") {
		t.Errorf("without the proof key: %+v, %v", who, err)
	}
	if _, err := p.Finish(t.Context(), back, mine, brought); err == nil {
		t.Error("a code worked twice")
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	good := Options{Issuer: "https://id.example.com", ClientID: "yuba"}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir() + "/empty"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Options){
		"--web-oidc-issuer":                   func(o *Options) { o.Issuer = "http://id.example.com" },
		"expected the provider's URL":         func(o *Options) { o.Issuer = "id.example.com" },
		"--web-oidc-client-id":                func(o *Options) { o.ClientID = "" },
		"--web-oidc-client-secret-file: open": func(o *Options) { o.ClientSecretFile = "/nonexistent" },
		"is empty":                            func(o *Options) { o.ClientSecretFile = empty },
		"--web-oidc-ca-file: open":            func(o *Options) { o.CAFile = "/nonexistent" },
		"has no certificate":                  func(o *Options) { o.CAFile = empty },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}
