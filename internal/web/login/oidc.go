// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/login/provider"
)

const (
	// workday is the longest session that begins with a provider: its groups are those of that moment,
	// and after it the provider is asked again, most often without a question to the person.
	workday = 12 * time.Hour
	// flowLife is how long a person may take at the provider.
	flowLife = 10 * time.Minute

	providerPath = "/login/oidc"
	callbackPath = "/login/oidc/callback"
)

// Provider is an identity provider that logs people in.
type Provider interface {
	// Host is what people know it by.
	Host() string
	Begin(ctx context.Context, redirect string) (address string, f provider.Flow, err error)
	Finish(ctx context.Context, redirect string, f provider.Flow, brought url.Values) (access.Person, error)
}

// journey is a flow with where its person wanted to go. It is a cookie: what it contains is worth
// nothing without the browser's login at the provider, and the other way around.
type journey struct {
	provider.Flow
	To string `json:"to"`
}

func (l *Logins) journeyCookie() string { return "__Host-" + l.Cookie + "-oidc" }

func (l *Logins) setJourney(w http.ResponseWriter, value string, seconds int) {
	// Lax: the provider leads back to this site.
	http.SetCookie(w, &http.Cookie{Name: l.journeyCookie(), Value: value, Path: "/", MaxAge: seconds, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// takeJourney returns the journey of a browser, which ends with it.
func (l *Logins) takeJourney(w http.ResponseWriter, r *http.Request) journey {
	var j journey
	cookie, err := r.Cookie(l.journeyCookie())
	if err != nil {
		return j
	}
	l.setJourney(w, "", -1)
	data, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(data, &j) != nil {
		return journey{} // the provider's answer will not fit it
	}
	return j
}

// base is the address of this site for a browser. Its host is one that the site answers to.
func (l *Logins) base(r *http.Request) string {
	if l.URL != nil {
		return strings.TrimRight(l.URL.String(), "/")
	}
	return "http://" + r.Host
}

// providerRoutes serves the two ends of a login at the provider.
func (l *Logins) providerRoutes(mux router, show func(http.ResponseWriter, int, shown), attempt func(http.ResponseWriter, *http.Request, shown, func() error)) {
	mux.HandleFunc("GET "+providerPath, func(w http.ResponseWriter, r *http.Request) {
		to := safeTarget(r.URL.Query().Get("to"))
		if l.URL != nil && !strings.EqualFold(r.Host, l.URL.Host) {
			// The browser must begin where the provider leads it back to.
			http.Redirect(w, r, l.base(r)+providerPath+"?to="+url.QueryEscape(to), http.StatusSeeOther)
			return
		}
		address, flow, err := l.Provider.Begin(r.Context(), l.base(r)+callbackPath)
		if err != nil {
			l.Log.Warn("a login with the identity provider cannot begin", "error", err)
			show(w, http.StatusBadGateway, shown{To: to, Problem: sentence(err)})
			return
		}
		data, err := json.Marshal(journey{flow, to})
		if err != nil {
			http.Error(w, "The login could not begin", http.StatusInternalServerError)
			return
		}
		l.setJourney(w, base64.RawURLEncoding.EncodeToString(data), int(flowLife.Seconds()))
		http.Redirect(w, r, address, http.StatusSeeOther)
	})
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		j := l.takeJourney(w, r)
		attempt(w, r, shown{To: safeTarget(j.To)}, func() error {
			p, err := l.Provider.Finish(r.Context(), l.base(r)+callbackPath, j.Flow, r.URL.Query())
			if err != nil {
				return err
			}
			return l.begin(r, p, l.Now().Add(workday))
		})
	})
}

// says is what a person reads of an error.
func says(err error) string {
	var problem *provider.Problem
	if errors.As(err, &problem) {
		return problem.Says
	}
	return err.Error()
}
