// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"fmt"
	"net/http"
)

// Events are server-sent events of what is not a page, such as a log that grows.
type Events struct{ out *events }

// Events begins a stream of events.
func (r *Request) Events(w http.ResponseWriter) *Events {
	e := &Events{newEvents(w)}
	_, e.out.err = fmt.Fprintf(w, "retry: %d\n\n", reconnect)
	return e
}

// Send sends an event. A browser that connects again names the id of the last event in the header
// Last-Event-ID; an empty one leaves it.
func (e *Events) Send(name, id, data string) error {
	if id != "" && e.out.err == nil {
		_, e.out.err = fmt.Fprintf(e.out.w, "id: %s\n", id)
	}
	e.out.send(name, data)
	return e.out.err
}

// StillIn reports whether the person of the request is still logged in, with the same rights.
func (r *Request) StillIn() bool {
	p, ok, err := r.site.Who(r.Request)
	return err != nil || ok && p.Key() == r.Person.Key() // nobody knows; the stream goes on
}

// Draw draws a template of the site.
func (r *Request) Draw(view string, data any) (string, error) {
	var buffer bytes.Buffer
	if err := r.site.views.ExecuteTemplate(&buffer, view, data); err != nil {
		return "", fmt.Errorf("draw %s: %w", view, err)
	}
	return buffer.String(), nil
}
