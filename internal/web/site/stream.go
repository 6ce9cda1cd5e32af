// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"time"
)

const (
	// pause is the shortest time between two versions of a page. A page that takes longer to make
	// gets a pause of calm times that.
	pause = 100 * time.Millisecond
	calm  = 10
	// heartbeat is how often a connection shows that it lives, and that the session still does.
	heartbeat = 15 * time.Second
	// patience limits how long a browser may take to read.
	patience = 30 * time.Second
	// reconnect is how long browsers wait before they connect again, in milliseconds.
	reconnect = 1000
)

// drawn is a part of a page.
type drawn struct {
	ID   string        `json:"id"`
	HTML template.HTML `json:"html"`
	// Mark identifies the content.
	Mark string `json:"mark"`
}

// ages matches times, whose words the browser keeps current.
var ages = regexp.MustCompile(`(<time [^>]*>)[^<]*`)

// draw draws the parts of a page.
func (s *Site) draw(p *Page) ([]drawn, error) {
	parts := make([]drawn, 0, len(p.Parts))
	for _, part := range p.Parts {
		var buffer bytes.Buffer
		if err := s.views.ExecuteTemplate(&buffer, part.View, part.Data); err != nil {
			return nil, fmt.Errorf("draw part %s: %w", part.ID, err)
		}
		// The age of something is no change of it.
		sum := sha256.Sum256(ages.ReplaceAll(buffer.Bytes(), []byte("$1")))
		parts = append(parts, drawn{part.ID, template.HTML(buffer.String()), hex.EncodeToString(sum[:6])}) //nolint:gosec // html/template has just written it
	}
	return parts, nil
}

// stream keeps an open page current.
func (s *Site) stream(w http.ResponseWriter, r *Request, h Handler) {
	out := &events{w: w, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	fmt.Fprintf(w, "retry: %d\n\n", reconnect) //nolint:errcheck // the next write tells
	out.send("edition", s.Edition)
	first, err := h(r)
	if err != nil {
		out.send("trouble", s.explain(r, err).Says)
		return
	}
	sub, err := s.Hub.Subscribe(r.Context(), first.Topics)
	if err != nil {
		s.Log.Error("a page cannot be kept current", "path", r.URL.Path, "error", err)
		out.send("trouble", "This page cannot be kept current. Load it again.")
		return
	}
	defer sub.Close()
	shown := marksOf(r.URL.Query().Get("marks"))
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for out.err == nil {
		took := s.update(out, r, h, shown)
		select {
		case <-r.Context().Done():
			return
		case <-time.After(max(pause, calm*took)):
		}
		for waiting := true; waiting && out.err == nil; {
			select {
			case <-r.Context().Done():
				return
			case <-sub.C:
				waiting = false
			case <-alive.C:
				if p, ok := s.Who(r.Request); !ok || p.Key() != r.Person.Key() {
					out.send("leave", "")
					return
				}
				out.send("alive", "")
			}
		}
	}
}

// update sends the parts that have changed, and returns how long it took to make them.
func (s *Site) update(out *events, r *Request, h Handler, shown map[string]string) time.Duration {
	began := time.Now()
	r.Now = s.Now()
	page, err := h(r)
	var parts []drawn
	if err == nil {
		parts, err = s.draw(page)
	}
	took := time.Since(began)
	if err != nil {
		if r.Context().Err() == nil {
			out.send("trouble", s.explain(r, err).Says)
		}
		return took
	}
	var changed []drawn
	for _, part := range parts {
		if shown[part.ID] != part.Mark {
			shown[part.ID] = part.Mark
			changed = append(changed, part)
		}
	}
	if len(changed) > 0 {
		data, err := json.Marshal(changed)
		if err != nil {
			out.err = err
			return took
		}
		out.send("parts", string(data))
	} else {
		out.send("same", "")
	}
	return took
}

// marksOf reads what a browser already shows: ID:MARK, separated by commas.
func marksOf(text string) map[string]string {
	marks := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		if id, mark, ok := strings.Cut(pair, ":"); ok && len(marks) < 100 {
			marks[id] = mark
		}
	}
	return marks
}

// events writes server-sent events.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// send sends one event. Data has no line breaks, or is split at them.
func (e *events) send(name, data string) {
	if e.err != nil {
		return
	}
	e.control.SetWriteDeadline(time.Now().Add(patience)) //nolint:errcheck // a server without deadlines only waits longer
	var text strings.Builder
	text.WriteString("event: " + name + "\n")
	for line := range strings.SplitSeq(data, "\n") {
		text.WriteString("data: " + strings.TrimRight(line, "\r") + "\n")
	}
	text.WriteString("\n")
	if _, e.err = e.w.Write([]byte(text.String())); e.err == nil {
		e.err = e.control.Flush()
	}
}
