// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// A notice is what an action said, for the page that is shown next. The browser keeps it for that
// long, so that every replica can show it.
const (
	noticeSeconds = 30
	maxNotice     = 1500
)

// noticeCookie names the cookie, as that of the session: browsers do not tell the ports of a host apart,
// and what one server said is not for the page of another.
func (s *Site) noticeCookie() string { return "__Host-" + s.Cookie + "-notice" }

func (s *Site) leaveNotice(w http.ResponseWriter, says string, bad bool) {
	kind := "+"
	if bad {
		kind = "-"
	}
	says = strings.ToValidUTF8(says[:min(len(says), maxNotice)], "")
	http.SetCookie(w, &http.Cookie{Name: s.noticeCookie(), Value: base64.RawURLEncoding.EncodeToString([]byte(kind + says)),
		Path: "/", MaxAge: noticeSeconds, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

func (s *Site) takeNotice(w http.ResponseWriter, r *http.Request) (says string, bad bool) {
	cookie, err := r.Cookie(s.noticeCookie())
	if err != nil {
		return "", false
	}
	http.SetCookie(w, &http.Cookie{Name: s.noticeCookie(), Path: "/", MaxAge: -1, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(text) == 0 {
		return "", false
	}
	return string(text[1:]), text[0] == '-'
}

// localPath returns the path and query of an address if it is on this host.
func localPath(address, host string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Host != host || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return "", false
	}
	local := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	return local.String(), true
}
