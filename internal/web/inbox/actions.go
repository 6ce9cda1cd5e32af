// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/web/site"
)

// seenCookie remembers when a person last looked: PERSON.SECONDS. It is for one person, because several
// may use a browser.
const (
	seenCookie = "__Host-yuba-seen"
	seenDays   = 400
)

// seenAt is when the person last said that they have seen the failures.
func seenAt(r *site.Request) time.Time {
	cookie, err := r.Cookie(seenCookie)
	if err != nil {
		return time.Time{}
	}
	person, text, _ := strings.Cut(cookie.Value, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || person != r.Person.Key() || seconds > r.Now.Unix() {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// seen remembers that the person has seen the failures up to the time that the form names: others may
// have come since.
func (p *pages) seen(r *site.Request) (site.Done, error) {
	until, err := strconv.ParseInt(r.PostFormValue("until"), 10, 64)
	if err != nil || until < 0 {
		return site.Done{}, site.BadRequest("The form does not say until when you have seen failures.", "")
	}
	cookie := &http.Cookie{Name: seenCookie, Value: r.Person.Key() + "." + strconv.FormatInt(min(until, r.Now.Unix()), 10), Path: "/",
		MaxAge: seenDays * 24 * 60 * 60, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	return site.Done{Says: "These failures are not shown again. Stacks and causes still list them.", Next: Section, Cookies: []*http.Cookie{cookie}}, nil
}
