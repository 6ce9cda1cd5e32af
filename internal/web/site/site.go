// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
)

// Options are what a site needs.
type Options struct {
	Access *access.Access
	Hub    *live.Hub
	// Who returns the person of a request; ok is false if they must log in first. On an error nobody
	// knows.
	Who func(r *http.Request) (p access.Person, ok bool, err error)
	// Sections are the entries of the navigation.
	Sections []Section
	// Cookie begins the names of cookies, without the prefix. Servers on one host need different ones.
	Cookie string
	// Edition changes when pages of an older server must be loaded again.
	Edition string
	Now     func() time.Time
	Log     *slog.Logger
}

// Section is an entry of the navigation.
type Section struct {
	Text, Address string
	// Count is the number beside it, for a person; nil for none.
	Count func(r *Request) int
	// Key follows "g" to go there.
	Key string
}

// Site serves pages.
type Site struct {
	Options
	access *access.Access
	mux    *http.ServeMux
	views  *template.Template
	// patterns are those of all pages.
	patterns []string
	// redraws limits the open pages that are made again at the same time; made are the last ones.
	redraws chan struct{}
	made    *madePages
}

// New returns a site without pages.
func New(o Options) *Site {
	s := &Site{Options: o, access: o.Access, mux: http.NewServeMux(), redraws: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		made: &madePages{now: o.Now, pages: map[string]made{}}}
	s.views = template.Must(template.New("").Funcs(s.functions()).ParseFS(frames, "views/*.html"))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Handle serves what is not a page.
func (s *Site) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// Page serves a page at a pattern of http.ServeMux without a method.
func (s *Site) Page(pattern string, h Handler) {
	s.patterns = append(s.patterns, pattern)
	s.mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
		request, ok := s.enter(w, r)
		if !ok {
			return
		}
		if wantsEvents(r) {
			s.stream(w, request, h)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), makeTime)
		defer cancel()
		request.Request = r.WithContext(ctx)
		page, err := h(request)
		if err != nil {
			s.fail(w, request, err)
			return
		}
		s.write(w, request, page, cmp.Or(page.Code, http.StatusOK))
	})
}

// Patterns are the patterns of all pages.
func (s *Site) Patterns() []string { return slices.Clone(s.patterns) }

// Serve serves a resource that is not a page, such as a download, to people who have logged in.
func (s *Site) Serve(pattern string, h func(w http.ResponseWriter, r *Request) error) {
	s.mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
		request, ok := s.enter(w, r)
		if !ok {
			return
		}
		if err := h(w, request); err != nil {
			s.fail(w, request, err)
		}
	})
}

// Action does something at a pattern of http.ServeMux without a method.
func (s *Site) Action(pattern string, do Action) {
	s.mux.HandleFunc("POST "+pattern, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		request, ok := s.enter(w, r)
		if !ok {
			return
		}
		if request.Person.IsAnonymous() {
			s.fail(w, request, &Refusal{http.StatusForbidden, "Only people who have logged in may change something.", ""})
			return
		}
		if err := request.ParseForm(); err != nil {
			s.fail(w, request, BadRequest("The form could not be read: "+err.Error(), ""))
			return
		}
		if s.asks(w, request) {
			return
		}
		done, err := do(request)
		if err != nil {
			s.fail(w, request, err)
			return
		}
		s.finish(w, request, done)
	})
}

// Answer serves a page that answers what a person has written into a form: it is posted, because an
// address may not have it, and changes nothing. The form has the attribute data-plain.
func (s *Site) Answer(pattern string, h Handler) {
	s.mux.HandleFunc("POST "+pattern, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		request, ok := s.enter(w, r)
		if !ok {
			return
		}
		if err := request.ParseForm(); err != nil {
			s.fail(w, request, BadRequest("The form could not be read: "+err.Error(), ""))
			return
		}
		page, err := h(request)
		if err != nil {
			s.fail(w, request, err)
			return
		}
		page.Topics = nil // the form's values would not survive an update
		s.write(w, request, page, cmp.Or(page.Code, http.StatusOK))
	})
}

// maxForm limits the body of an action.
const maxForm = 1 << 20

// enter returns the person's request, or sends them to the login.
func (s *Site) enter(w http.ResponseWriter, r *http.Request) (*Request, bool) {
	person, ok, err := s.Who(r)
	switch {
	case err != nil:
		s.Log.Error("a session cannot be read", "path", r.URL.Path, "error", err)
		http.Error(w, "Sessions cannot be read now. Try again in a moment", http.StatusServiceUnavailable)
		return nil, false
	case !ok && wantsEvents(r):
		newEvents(w).send("leave", "") // browsers do not tell a page the status of such a request
		return nil, false
	case !ok:
		if r.Method != http.MethodGet || !wantsHTML(r) {
			http.Error(w, "log in first", http.StatusUnauthorized)
			return nil, false
		}
		http.Redirect(w, r, "/login?to="+template.URLQueryEscaper(r.URL.RequestURI()), http.StatusSeeOther)
		return nil, false
	}
	as, err := s.access.As(person)
	if err != nil {
		s.Log.Error("the API cannot be used as a person", "person", person.Name, "error", err)
		http.Error(w, "The server cannot reach its API. See its log", http.StatusInternalServerError)
		return nil, false
	}
	request := &Request{Request: r, Person: person, As: as, Now: s.Now(), site: s}
	if nameless(r) {
		s.fail(w, request, NotFound("There is no page at "+r.URL.Path+": it names something that nothing can be called.", ""))
		return nil, false
	}
	return request, true
}

func wantsEvents(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

func wantsHTML(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*")
}

// write writes a whole page.
func (s *Site) write(w http.ResponseWriter, r *Request, p *Page, code int) {
	shown, err := s.draw(p)
	if err == nil {
		err = s.writeFrame(w, r, p, shown, code)
	}
	if err != nil {
		s.Log.Error("a page could not be drawn", "path", r.URL.Path, "error", err)
		http.Error(w, "This page could not be drawn. See the server's log", http.StatusInternalServerError)
	}
}

// frame is the data of the template "frame".
type frame struct {
	*Page
	Request  *Request
	Parts    []drawn
	Sections []entry
	Edition  string
	// Waiting is the sum of the counts beside the sections.
	Waiting int
	// Notice is what the last action said, Bad if it failed.
	Notice string
	Bad    bool
	// Live is true if the browser should ask for updates.
	Live bool
}

// entry is an entry of the navigation.
type entry struct {
	Section
	Here  bool
	Count int
}

func (s *Site) writeFrame(w http.ResponseWriter, r *Request, p *Page, parts []drawn, code int) error {
	f := frame{Page: p, Request: r, Parts: parts, Edition: s.Edition, Live: len(p.Topics) > 0 && code == http.StatusOK}
	for _, section := range s.Sections {
		e := entry{Section: section, Here: section.Address == p.Section}
		if section.Count != nil {
			e.Count = section.Count(r)
			f.Waiting += e.Count
		}
		f.Sections = append(f.Sections, e)
	}
	f.Notice, f.Bad = s.takeNotice(w, r.Request)
	var buffer bytes.Buffer
	if err := s.views.ExecuteTemplate(&buffer, "frame", f); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	writeShort(w, r.Request, code, buffer.Bytes())
	return nil
}

// writeShort writes a body, compressed if the browser takes that.
func writeShort(w http.ResponseWriter, r *http.Request, code int, body []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(code)
		w.Write(body) //nolint:errcheck // the browser is gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(code)
	short := gzip.NewWriter(w)
	short.Write(body) //nolint:errcheck // the browser is gone
	short.Close()     //nolint:errcheck // the browser is gone
}

// fail shows an error: as a page to those who read, and as a sentence to those who act.
func (s *Site) fail(w http.ResponseWriter, r *Request, err error) {
	refused := s.explain(r, err)
	switch {
	case r.Method == http.MethodPost && wantsJSON(r.Request):
		answer(w, refused.Code, spoken{Error: strings.TrimSpace(refused.Says + " " + refused.Hint)})
	case r.Method == http.MethodPost:
		s.leaveNotice(w, strings.TrimSpace(refused.Says+" "+refused.Hint), true)
		http.Redirect(w, r.Request, r.cameFrom(), http.StatusSeeOther)
	default:
		page := &Page{Title: http.StatusText(refused.Code), Parts: []Part{{ID: "refusal", View: "refusal", Data: refused}}}
		s.write(w, r, page, refused.Code)
	}
}

// explain turns an error into an answer. What the API did not explain itself is only in the log.
func (s *Site) explain(r *Request, err error) *Refusal {
	answer := s.reason(r, err)
	// Messages of the API quote what others have written.
	return &Refusal{answer.Code, diagnostic.Printable(answer.Says), diagnostic.Printable(answer.Hint)}
}

func (s *Site) reason(r *Request, err error) *Refusal {
	var refused *Refusal
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, context.Canceled):
		return &Refusal{http.StatusServiceUnavailable, "The request was cancelled.", ""}
	case apierrors.IsForbidden(err):
		return &Refusal{http.StatusForbidden, "You may not do this: " + err.Error() + ".", "Ask those who administer this server for a role that allows it."}
	case errors.As(err, &status) && status.Status().Code >= 400:
		return &Refusal{int(status.Status().Code), err.Error(), ""}
	}
	s.Log.Error("a page failed", "path", r.URL.Path, "person", r.Person.Name, "error", err)
	return &Refusal{http.StatusBadGateway, "The API did not answer as expected.", "The server's log has the details. Try again."}
}

// finish ends an action.
func (s *Site) finish(w http.ResponseWriter, r *Request, d Done) {
	for _, cookie := range d.Cookies {
		http.SetCookie(w, cookie)
	}
	if wantsJSON(r.Request) {
		answer(w, http.StatusOK, spoken{Says: d.Says, Next: d.Next})
		return
	}
	s.leaveNotice(w, d.Says, false)
	next := d.Next
	if next == "" {
		next = r.cameFrom()
	}
	http.Redirect(w, r.Request, next, http.StatusSeeOther)
}

// spoken is the end of an action for the site's script.
type spoken struct {
	Says  string `json:"says,omitempty"`
	Error string `json:"error,omitempty"`
	Next  string `json:"next,omitempty"`
}

func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

func answer(w http.ResponseWriter, code int, s spoken) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(s) //nolint:errcheck // the browser is gone
}

// cameFrom is the page of this site that a form was on.
func (r *Request) cameFrom() string {
	if back := r.back(); back != "" {
		return back
	}
	if back, ok := localPath(r.Referer(), r.Host); ok {
		return back
	}
	return "/"
}

// AddViews adds templates. Names must be new.
func (s *Site) AddViews(text string) {
	for _, defined := range template.Must(template.New("").Funcs(s.functions()).Parse(text)).Templates() {
		if defined.Name() == "" || defined.Tree == nil {
			continue
		}
		if s.views.Lookup(defined.Name()) != nil {
			panic(fmt.Sprintf("site: two templates are called %q", defined.Name()))
		}
		template.Must(s.views.AddParseTree(defined.Name(), defined.Tree))
	}
}
