// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
)

// Request is a person's request.
type Request struct {
	*http.Request
	Person access.Person
	// As is the API as the person.
	As  *access.API
	Now time.Time

	site *Site
}

// Can reports whether the person may do something.
func (r *Request) Can(right access.Right) (bool, error) {
	return r.site.access.Can(r.Context(), r.Person, right)
}

// Scope is where the person may list a resource.
func (r *Request) Scope(group, resource string) (access.Scope, error) {
	return r.site.access.Scope(r.Context(), r.Person, group, resource)
}

// Handler makes a page. Errors of the API become pages that explain them.
type Handler func(r *Request) (*Page, error)

// Page is one page.
type Page struct {
	// Title is its heading, and the window's title.
	Title string
	// Section is the navigation's entry that it belongs to, by its address; "" for none.
	Section string
	// Trail leads to the page, from the section down.
	Trail []Link
	// Commands are the command lines that show or do the same.
	Commands []string
	// Parts are its content, in order.
	Parts []Part
	// Topics are what it shows. A page without topics is not kept current.
	Topics []live.Topic
	// Wide pages use the whole width of the window.
	Wide bool
}

// Link leads to an address of this site.
type Link struct{ Text, Address string }

// Part is a part of a page that is drawn, and updated, as a whole.
type Part struct {
	// ID is unique on the page. It is the id of the part's element.
	ID string
	// View is the name of a template of the site. Data is what it draws.
	View string
	Data any
}

// Done is the end of an action.
type Done struct {
	// Says is one sentence about what was done.
	Says string
	// Next is the address to go to; empty for the page that the person came from.
	Next string
}

// Action does what a form asks for. Errors of the API are shown where the person was.
type Action func(r *Request) (Done, error)

// Refusal is an error that is the answer to a person: it is shown as it is.
type Refusal struct {
	// Code is the HTTP status.
	Code int
	// Says says what was asked for and why it is refused. Hint says what to do next; may be empty.
	Says, Hint string
}

func (e *Refusal) Error() string { return e.Says }

// NotFound refuses because something is gone or never was.
func NotFound(says, hint string) error { return &Refusal{http.StatusNotFound, says, hint} }

// BadRequest refuses what cannot be understood.
func BadRequest(says, hint string) error { return &Refusal{http.StatusBadRequest, says, hint} }

// Conflict refuses because things have moved on.
func Conflict(says, hint string) error { return &Refusal{http.StatusConflict, says, hint} }

// Button is an action as a person sees it.
type Button struct {
	Label string
	// Address is where the form is posted to. Values are its hidden fields.
	Address string
	Values  []Value
	// Confirm is asked before it is done; empty for no question.
	Confirm string
	// Danger marks what cannot be undone.
	Danger bool
	// Missing says why the person may not do it; empty if they may.
	Missing string
	// Key is the key that presses it where it stands in a selected row.
	Key string
}

// Value is a hidden field of a form.
type Value struct{ Name, Value string }

// Allow returns the button, disabled unless the person has the rights that it needs.
func (r *Request) Allow(b Button, rights ...access.Right) Button {
	switch {
	case b.Missing != "":
	case r.Person.IsAnonymous():
		b.Missing = "Log in to do this."
	default:
		for _, right := range rights {
			yes, err := r.Can(right)
			if err != nil {
				b.Missing = "Whether you may do this could not be checked now."
			} else if !yes {
				b.Missing = "You need the right to " + right.String() + "."
			}
			if b.Missing != "" {
				break
			}
		}
	}
	return b
}
