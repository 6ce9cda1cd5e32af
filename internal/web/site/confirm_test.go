// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/webtest"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/site"
)

func newSite(t *testing.T) *site.Site {
	t.Helper()
	return webtest.Site(t, &webtest.Watched{}, func(access.Right) bool { return true }, time.Now())
}

func post(t *testing.T, s http.Handler, address, accept string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://yuba"+address, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", accept)
	r.Header.Set("Referer", "http://yuba/from?q=1")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Without the script, a form that has a question does nothing before it is answered.
func TestAQuestionIsAskedWithoutTheScript(t *testing.T) {
	s := newSite(t)
	var did []string
	s.Action("/things/{name}/delete", func(r *site.Request) (site.Done, error) {
		did = append(did, r.PathValue("name")+" "+r.PostFormValue("id"))
		return site.Done{Says: "It is deleted."}, nil
	})
	const html = "text/html,application/xhtml+xml"
	form := url.Values{"ask": {"Delete <b>it</b>\u202e?"}, "id": {"7", "8\""}}
	w := post(t, s, "/things/a/delete", html, form)
	body := w.Body.String()
	if len(did) != 0 || w.Code != http.StatusOK {
		t.Fatalf("done: %v, status %d", did, w.Code)
	}
	for _, part := range []string{"Delete &lt;b&gt;it&lt;/b&gt;", `action="/things/a/delete"`, `name="id" value="7"`, `name="id" value="8&#34;"`, `name="back" value="/from?q=1"`, `href="/from?q=1"`} {
		if !strings.Contains(body, part) {
			t.Errorf("lacks %s: %s", part, body)
		}
	}
	if strings.Contains(body, `name="ask"`) || strings.Contains(body, "\u202e") {
		t.Error("it asks again, or shows text that turns its order")
	}
	form = url.Values{"id": {"7"}, "back": {"/from?q=1"}}
	if w = post(t, s, "/things/a/delete", html, form); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/from?q=1" || len(did) != 1 || did[0] != "a 7" {
		t.Errorf("%d %s, done: %v", w.Code, w.Header().Get("Location"), did)
	}
	for _, evil := range []string{"https://evil/x", "//evil/x", "/\\evil", "javascript:alert(1)", "evil", ""} {
		form.Set("back", evil)
		if to := post(t, s, "/things/a/delete", html, form).Header().Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`) {
			t.Errorf("back to %q leads to %q", evil, to)
		}
	}
	// The script has asked already.
	did, form = nil, url.Values{"ask": {"Delete it?"}, "id": {"9"}}
	if w = post(t, s, "/things/a/delete", "application/json", form); w.Code != http.StatusOK || len(did) != 1 {
		t.Errorf("%d, done: %v", w.Code, did)
	}
}

func TestAButtonHasItsQuestion(t *testing.T) {
	s := newSite(t)
	s.Page("/", func(*site.Request) (*site.Page, error) {
		return &site.Page{Title: "a\u202eb", Parts: []site.Part{{ID: "b", View: "button", Data: site.Button{Label: "Delete", Confirm: "Sure\u202e?"}}},
			Commands: []string{"yuba \u202e"}}, nil
	})
	_, body := webtest.Get(t, s, "/")
	if !strings.Contains(body, `name="ask" value="Sure\u202e?"`) || strings.Contains(body, "\u202e") {
		t.Error(body)
	}
}

// Names in addresses become parts of commands that people copy.
func TestAddressesWithNamesOfNothing(t *testing.T) {
	s := newSite(t)
	reached := false
	s.Page("/things/{namespace}/{name}", func(*site.Request) (*site.Page, error) {
		reached = true
		return &site.Page{Title: "x"}, nil
	})
	s.Action("/things/{namespace}/{name}/do", func(*site.Request) (site.Done, error) {
		reached = true
		return site.Done{}, nil
	})
	for name, fine := range map[string]bool{"a": true, "a.b-c_D9": true, "a;id": false, "$(id)": false, "a b": false, "a\nb": false, "'": false, "-rf": false, "..": false, strings.Repeat("a", 254): false, "a\u202e": false} {
		reached = false
		code, _ := webtest.Get(t, s, "/things/ns/"+url.PathEscape(name))
		if reached != fine || fine != (code == http.StatusOK) {
			t.Errorf("%q: %d, reached %v", name, code, reached)
		}
		reached = false
		if post(t, s, "/things/"+url.PathEscape(name)+"/x/do", "application/json", nil); reached != fine {
			t.Errorf("action on %q: reached %v", name, reached)
		}
	}
}
