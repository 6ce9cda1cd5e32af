// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// policy is the content security policy: what the page loads and sends is this server's own, and it
// runs no script that is not a file.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard keeps others away from the page: sites in the same browser, names that lead here by DNS
// rebinding, and frames.
type guard struct {
	// host is the name under which people reach the page; empty if only by the addresses of this
	// machine.
	host   string
	secure bool
	origin *http.CrossOriginProtection
}

func newGuard(o Options) (*guard, error) {
	g := &guard{origin: http.NewCrossOriginProtection()}
	if o.URL != nil {
		if o.URL.Host == "" || o.URL.Scheme != "https" && o.URL.Scheme != "http" || strings.Trim(o.URL.Path, "/") != "" {
			return nil, fmt.Errorf("the page's URL %s: expected https://HOST without a path", o.URL)
		}
		g.host, g.secure = o.URL.Host, o.URL.Scheme == "https"
		if err := g.origin.AddTrustedOrigin(o.URL.Scheme + "://" + o.URL.Host); err != nil {
			return nil, fmt.Errorf("the page's URL %s: %w", o.URL, err)
		}
	}
	return g, nil
}

// around guards a handler.
func (g *guard) around(h http.Handler) http.Handler {
	checked := g.origin.Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Frame-Options", "DENY")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		if g.secure {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if !g.knows(r.Host) {
			http.Error(w, "This server does not serve pages as "+strings.ToValidUTF8(r.Host, "?")+".\n"+
				"Use the address that \"yuba web\" prints, or start the server with --web-url.", http.StatusMisdirectedRequest)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// knows reports whether a host is one of this page's names: an attacker's name may resolve to this
// machine, and its pages would then count as this one.
func (g *guard) knows(host string) bool {
	if g.host != "" && strings.EqualFold(host, g.host) {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	// An address is no name that somebody could make resolve to another address.
	return net.ParseIP(name) != nil
}
