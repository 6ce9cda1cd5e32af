// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// askField has the question of a form that must be answered first, backField the page that it was on. The
// site's script asks in place; without it the site asks on a page of its own.
const askField, backField = "ask", "back"

// sure is the data of the template "sure".
type sure struct {
	Question, Address, Back string
	Values                  []Value
}

// asks shows the question of a form to a browser that has not asked it, and reports whether it did.
func (s *Site) asks(w http.ResponseWriter, r *Request) bool {
	question := r.PostForm.Get(askField)
	if question == "" || wantsJSON(r.Request) {
		return false
	}
	d := sure{Question: question, Address: r.URL.Path, Back: r.cameFrom()}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		if name == askField || name == backField {
			continue
		}
		for _, value := range r.PostForm[name] {
			d.Values = append(d.Values, Value{name, value})
		}
	}
	s.write(w, r, &Page{Title: "Confirm", Parts: []Part{{ID: "sure", View: "sure", Data: d}}}, http.StatusOK)
	return true
}

// back is the page that a confirmed form was on; empty for none.
func (r *Request) back() string {
	if r.PostForm == nil {
		return ""
	}
	u, err := url.Parse(r.PostForm.Get(backField))
	if err != nil || u.Scheme != "" || u.User != nil || u.Host != "" {
		return ""
	}
	u.Host = r.Host
	local, _ := localPath(u.String(), r.Host)
	return local
}
