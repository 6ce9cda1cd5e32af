// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

var (
	loginAddress = regexp.MustCompile(`https://\S+/oauth/authorize\?\S+`)
	hiddenField  = regexp.MustCompile(`name="([a-z_]+)" value="([^"]*)"`)
)

// browser fills in the login's page as a person would.
func (s *site) browser(address, token string) (*http.Response, string) {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &http.Client{Transport: s.http.Client().Transport, Jar: jar}
	read := func(r *http.Response, err error) (*http.Response, string) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		return r, string(body)
	}
	page, text := read(c.Get(address))
	if page.StatusCode != http.StatusOK {
		return page, text
	}
	form := url.Values{"token": {token}}
	for _, field := range hiddenField.FindAllStringSubmatch(text, -1) {
		form.Set(field[1], strings.NewReplacer("&#43;", "+", "&amp;", "&").Replace(field[2]))
	}
	return read(c.PostForm(s.http.URL+"/oauth/authorize", form))
}

func TestTofuLogsIn(t *testing.T) {
	s := newSite(t)
	s.publish("acme/vpc/aws@1.2.0")
	l := s.laptop(tofutest.Tofu(t), "")
	// With a CLI configuration of its own, tofu does not read the credentials that it stored.
	l.env = slices.DeleteFunc(l.env, func(pair string) bool { return strings.HasPrefix(pair, "TF_CLI_CONFIG_FILE=") })
	cmd := exec.CommandContext(t.Context(), l.program, "login", s.host())
	cmd.Dir, cmd.Env, cmd.Stdin = l.home, l.env, strings.NewReader("yes\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(out), ""
	for lines.Scan() {
		said += lines.Text() + "\n"
		if address := loginAddress.FindString(lines.Text()); address != "" {
			if r, body := s.browser(address, "guessed"); r.StatusCode != http.StatusForbidden || !strings.Contains(body, "not valid") {
				t.Errorf("a guessed token: %s %s", r.Status, body)
			}
			if r, body := s.browser(address, s.reader); r.StatusCode != http.StatusOK {
				t.Errorf("the tool answers %s %s", r.Status, body)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	stored, err := os.ReadFile(filepath.Join(l.home, ".terraform.d", "credentials.tfrc.json"))
	if err != nil || !strings.Contains(string(stored), s.reader) {
		t.Errorf("the stored credentials: %v", err)
	}
	l.write("main.tf", calls(s.host(), "1.2.0"))
	if out, err := l.run("init", "-no-color"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(s.log.String(), s.reader) {
		t.Error("the log has the token")
	}
}

// apiTokens are tokens that open the API, too.
type apiTokens struct{ registry.Access }

// Identify implements registry.Access.
func (a apiTokens) Identify(ctx context.Context, token string) (registry.Identity, error) {
	if token == "of-an-account" {
		return registry.ServiceAccount("shop", "ci"), nil
	}
	return registry.Identity{Name: "oidc:ada@example.com"}, nil
}

// The tool stores the token in clear text: one that opens the API is refused, with what to do.
func TestALoginRefusesTokensOfTheAPI(t *testing.T) {
	s := newSite(t, func(_ *site, o *registry.Options) { o.Access = apiTokens{o.Access} })
	q := url.Values{"client_id": {"yuba"}, "response_type": {"code"}, "redirect_uri": {"http://localhost:10001/login"}, "code_challenge_method": {"S256"}, "code_challenge": {strings.Repeat("a", 43)}}
	for token, want := range map[string]string{
		"of-an-account": "kubectl create token ci -n shop --audience registry.yuba.dev",
		"of-a-person":   "yuba registry token create NAME --read NAMESPACE",
	} {
		r, body := s.browser(s.http.URL+"/oauth/authorize?"+q.Encode(), token)
		if r.StatusCode != http.StatusForbidden || !strings.Contains(body, want) || !strings.Contains(body, "opens the API") {
			t.Errorf("%s: %s %s", token, r.Status, body)
		}
	}
}

func TestALoginNeverRedirectsElsewhere(t *testing.T) {
	s := newSite(t)
	for sentence, redirect := range map[string]string{
		"another host": "http://example.com:10000/login", "another port": "http://localhost:8080/login", "another path": "http://localhost:10000/elsewhere",
		"TLS": "https://localhost:10000/login", "a user": "http://localhost:10000@example.com/login", "none": "",
	} {
		q := url.Values{"client_id": {"yuba"}, "response_type": {"code"}, "redirect_uri": {redirect}, "code_challenge_method": {"S256"}, "code_challenge": {strings.Repeat("a", 43)}}
		if r, body := s.ask("GET", "/oauth/authorize?"+q.Encode(), ""); r.StatusCode != http.StatusBadRequest || strings.Contains(body, "<form") {
			t.Errorf("%s: %s", sentence, r.Status)
		}
	}
}
