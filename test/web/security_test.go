// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// ownServer starts a Yuba for one test, which may end it.
func ownServer(t *testing.T) *server {
	t.Helper()
	s, err := launch(t.TempDir(), "--tofu", tofutest.Tofu(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// hostile is a message, as HCL, that wants to be markup, run, and read backwards.
const hostile = `</td><script>window.pwned=1</script><img src=x onerror='window.pwned=2'> javascript:alert(1) \u202egnp.exe\u202c {{.}}`

// refusing is a program that always fails with a message.
func refusing(message string) string {
	return fmt.Sprintf(`resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = length(path.module) == 0
      error_message = "%s"
    }
  }
}`, message)
}

// fails deploys a program that fails with a message.
func (s *server) fails(t *testing.T, namespace, name, message string) {
	t.Helper()
	const failed = 4 // the exit code of a run that fails
	if out, code := s.run(t, "deploy", program(t, refusing(message)), "--name", name, "-n", namespace); code != failed {
		t.Fatalf("deploy: exit code %d, want %d\n%s", code, failed, out)
	}
}

// What comes from outside is text, whatever it looks like.
func TestHostileTextIsOnlyText(t *testing.T) {
	s, namespace := common(t)
	s.fails(t, namespace, "hostile", hostile)
	b := newTab(t, s)
	b.login()
	for _, path := range []string{"/", "/stacks", "/stacks?q=" + `%3Cscript%3Ewindow.pwned=3%3C/script%3E%22onfocus=%22window.pwned=4`} {
		b.open(path)
		if path == "/" { // the list of stacks shows first lines only
			b.do(chromedp.Evaluate("document.querySelectorAll('main details').forEach((d) => { d.open = true; })", nil))
			b.sees("main", "<script>window.pwned=1</script>")
		}
		var pwned, backwards bool
		b.do(chromedp.Evaluate("window.pwned !== undefined || document.querySelector('main script, main img, [onerror], [onfocus]') !== null", &pwned),
			chromedp.Evaluate(`/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)`, &backwards))
		if pwned {
			t.Errorf("%s: text became markup: %s", path, b.text("body"))
		}
		if backwards {
			t.Errorf("%s: text can be reordered", path)
		}
	}
}

// evil is another site, with a page that leads where the test wants.
func evil(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><link rel=icon href=\"data:,\"><title>evil</title><h1>evil</h1>"+body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Another site can neither show the page in a frame, nor send its forms.
func TestOtherSitesGetNothing(t *testing.T) {
	s, namespace := common(t)
	s.waits(t, namespace, "target", greeting)
	var stack infrav1.Terraform
	if err := s.client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "target"}, &stack); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.login()
	// Not chromedp.Navigate: the frame never loads, which it would wait for.
	b.do(chromedp.Evaluate(fmt.Sprintf("location.assign(%q)", evil(t, fmt.Sprintf(`<iframe src="http://%s/"></iframe>`, s.http))), nil))
	for end := time.Now().Add(patience); time.Now().Before(end) && !b.reported("frame-ancestors"); time.Sleep(50 * time.Millisecond) {
	}
	b.expect("frame-ancestors")
	form := fmt.Sprintf(`<form method="post" action="http://%s/stacks/%s/target/approve"><input name="plan" value="%s"><input name="digest" value="%s"><button>x</button></form>`,
		s.http, namespace, stack.Status.Plan.Pending, stack.Status.Plan.Digest)
	b.do(chromedp.Navigate(evil(t, form)), chromedp.WaitVisible("form"), chromedp.Click("button"))
	b.sees("body", "cross-origin")
	b.expect("403")
	if err := s.client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "target"}, &stack); err != nil {
		t.Fatal(err)
	}
	if !stack.AwaitsApproval() {
		t.Error("another site approved a plan")
	}
}

// A name that an attacker lets resolve to this machine is not the page's, and a cookie that nobody was
// given is no session.
func TestRebindingAndForgedCookies(t *testing.T) {
	s, _ := common(t)
	_, port, err := net.SplitHostPort(s.http)
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))
	b.do(chromedp.Navigate("http://evil.example:"+port+"/"), chromedp.WaitVisible("body"))
	b.sees("body", "does not serve pages as evil.example")
	b.expect("421")
	b.expect("Cross-Origin-Opener-Policy")
	expires := cdp.TimeSinceEpoch(time.Now().Add(time.Hour))
	b.do(network.SetCookie("__Host-yuba-"+port, "Zm9yZ2VkZm9yZ2VkZm9yZ2VkZm9yZ2VkZm9yZ2VkZm8").WithURL("https://127.0.0.1:" + port + "/").
		WithPath("/").WithSecure(true).WithHTTPOnly(true).WithExpires(&expires))
	b.open("/stacks")
	if b.path() != "/login" {
		t.Errorf("a forged cookie leads to %s", b.path())
	}
}
