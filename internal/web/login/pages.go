// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

//go:embed login.html
var pageText string

var page = template.Must(template.New("login").Parse(pageText))

// shown is what the page of logins shows.
type shown struct {
	// Edition is that of the assets, To the page to go to afterwards.
	Edition, To string
	// Code is that of a link, if the person came with one, and As whose it is. At is true if it may be
	// used without a question: nobody else is logged in.
	Code, As string
	At       bool
	// Problem says why the last attempt failed.
	Problem string
	// Provider is the host of the identity provider, Begin the address that leads there; empty for none.
	Provider, Begin string
}

type router interface {
	HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request))
}

// Routes serves the pages of logins: GET and POST /login, /login/link, /login/oidc, and POST /logout.
func (l *Logins) Routes(mux router, edition string) {
	show := func(w http.ResponseWriter, code int, s shown) {
		s.Edition = edition
		if l.Provider != nil {
			s.Provider, s.Begin = l.Provider.Host(), providerPath+"?to="+url.QueryEscape(s.To)
		}
		var buffer bytes.Buffer
		if err := page.Execute(&buffer, s); err != nil {
			l.Log.Error("the page of logins could not be drawn", "error", err)
			http.Error(w, "This page could not be drawn. See the server's log", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		w.Write(buffer.Bytes()) //nolint:errcheck // the browser is gone
	}
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		show(w, http.StatusOK, shown{To: safeTarget(r.URL.Query().Get("to"))})
	})
	// Opening a link shows it first: programs that look at links must not use them up.
	mux.HandleFunc("GET /login/link", func(w http.ResponseWriter, r *http.Request) {
		s := shown{Code: r.URL.Query().Get("code"), To: safeTarget(r.URL.Query().Get("to"))}
		whose, ok := l.links.look(s.Code)
		if !ok {
			s.Code, s.Problem = "", sentence(errNoLink)
			show(w, http.StatusUnauthorized, s)
			return
		}
		now, logged, err := l.stored(r)
		s.As, s.At = whose.Called(), err == nil && (!logged || now.Name == whose.Name)
		show(w, http.StatusOK, s)
	})
	attempt := func(w http.ResponseWriter, r *http.Request, again shown, use func() error) {
		if !l.attempts.allowed(r) {
			w.Header().Set("Retry-After", "60")
			again.Problem = "Too many wrong attempts from your address. Wait a minute."
			show(w, http.StatusTooManyRequests, again)
			return
		}
		if err := use(); err != nil {
			l.attempts.failed(r)
			l.Log.Info("a login to the page failed", "from", r.RemoteAddr, "reason", err.Error())
			again.Problem, again.Code = sentence(err), ""
			show(w, http.StatusUnauthorized, again)
			return
		}
		http.Redirect(w, r, again.To, http.StatusSeeOther)
	}
	if l.Provider != nil {
		l.providerRoutes(mux, show, attempt)
	}
	const maxForm = 64 << 10
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		attempt(w, r, shown{To: safeTarget(r.FormValue("to"))}, func() error { return l.UseToken(r, strings.TrimSpace(r.PostFormValue("token"))) })
	})
	mux.HandleFunc("POST /login/link", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		attempt(w, r, shown{To: safeTarget(r.FormValue("to"))}, func() error { return l.UseLink(r, r.PostFormValue("code")) })
	})
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := l.End(r, r.FormValue("everywhere") != ""); err != nil {
			l.Log.Error("a logout failed", "error", err)
			http.Error(w, "The session could not be ended. Try again", http.StatusServiceUnavailable)
			return
		}
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	})
}

func sentence(err error) string {
	text := says(err)
	if errors.Is(err, errNoLink) {
		text += ". Make another one with \"yuba web\""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// safeTarget is a page of this site to go to: whatever else was asked for, it is the first one.
func safeTarget(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) {
		return "/"
	}
	return u.RequestURI()
}
