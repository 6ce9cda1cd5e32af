// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// identities is the running provider of test/oidc.
type identities struct{ address, authority, secret string }

func startIdentities(t *testing.T) *identities {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "oidc")
	build := exec.Command("go", "build", "-C", "../oidc", "-buildvcs=false", "-o", program, ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the identity provider: %v\n%s", err, out)
	}
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	p := &identities{address, filepath.Join(dir, "ca.crt"), filepath.Join(dir, "secret")}
	const secret = "correct horse"
	if err := os.WriteFile(p.secret, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	var log proctest.Log
	cmd := exec.Command(program, "-address", address, "-ca-file", p.authority, "-secret", secret)
	if err := proctest.Start(cmd, "The provider is ready", &log, patience); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has no state
		cmd.Wait()         //nolint:errcheck // it was killed
		if t.Failed() {
			t.Logf("the provider:\n%s", log.Tail())
		}
	})
	return p
}

// behave changes how the provider behaves from now on.
func (b *tab) behave(p *identities, how string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.ctx, http.MethodPost, "https://"+p.address+"/control/"+how, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	authority, err := os.ReadFile(p.authority)
	if err != nil {
		b.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	admin := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}
	response, err := admin.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	response.Body.Close() //nolint:errcheck // it was not read
	if response.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s", how, response.Status)
	}
}

// identify begins a login with the provider, and says there who it is.
func (b *tab) identify(password string) {
	b.Helper()
	b.open("/login")
	b.do(chromedp.Click(`a[href^="/login/oidc"]`), chromedp.WaitVisible(`input[name="username"]`), chromedp.SendKeys(`input[name="username"]`, "test-user@127.0.0.1"),
		chromedp.SendKeys(`input[name="password"]`, password), chromedp.Click(`button[type="submit"]`))
}

// People log in at a real identity provider, in a browser, and have the rights of their groups. A wrong
// password, a token signed by a stranger and one that has expired let nobody in.
func TestPeopleLogInWithAnIdentityProvider(t *testing.T) {
	p := startIdentities(t)
	s, err := launch(t.TempDir(), "--tofu", tofutest.Tofu(t), "--web-oidc-issuer", "https://"+p.address, "--web-oidc-client-id", "yuba", "--web-oidc-client-secret-file", p.secret,
		"--web-oidc-ca-file", p.authority, "--web-oidc-username-claim", "email", "--web-oidc-groups-claim", "groups", "--web-oidc-groups-prefix", "oidc:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	mine, other := s.namespace(t), s.namespace(t)
	s.yuba(t, "kubectl", "create", "rolebinding", "platform", "--clusterrole=edit", "--group=oidc:platform", "-n", mine)
	s.waits(t, mine, "app", greeting)
	s.waits(t, other, "app", greeting)
	b := newTab(t, s, chromedp.Flag("ignore-certificate-errors", true))
	b.identify("a wrong password")
	b.sees("body", "username or password wrong")
	b.identify("verysecure")
	b.sees("h1", "Inbox")
	b.do(chromedp.Click(".person summary"))
	b.sees(".menu", "test-user@zitadel.ch")
	b.sees(".menu", "oidc:platform, oidc:people")
	b.open("/") // the menu covers other things
	if text := b.text("main"); strings.Contains(text, other) {
		t.Errorf("the inbox shows what others may see: %s", text)
	}
	b.do(chromedp.Click("#waits-" + mine + "\\.app button"))
	b.sees("#notice", "is approved")
	s.settles(t, mine, "app", func(stack *infrav1.Terraform) bool { return stack.Status.Plan.LastApplied != "" })
	logout := func() {
		b.open("/")
		b.do(chromedp.Click(".person summary"), chromedp.Click(".person form button"))
		b.sees("h1", "Log in")
	}
	logout()

	// The provider changes its keys from time to time.
	b.behave(p, "rotate")
	b.identify("verysecure")
	b.sees("h1", "Inbox")
	logout()
	for _, how := range []string{"stranger", "late"} {
		b.behave(p, how)
		b.identify("verysecure")
		b.sees("[role=alert]", "ID token")
		b.expect("401")
		b.open("/stacks")
		if b.path() != "/login" {
			t.Errorf("%s: a token let somebody in", how)
		}
		b.behave(p, "rotate")
	}
}
