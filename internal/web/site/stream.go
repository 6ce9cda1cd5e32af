// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/web/live"
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
	// retryFirst and retryMost bound the time until a page that failed is made again.
	retryFirst, retryMost = time.Second, 30 * time.Second
)

// tab is a browser that keeps a page open.
type tab struct {
	site    *Site
	request *Request
	handler Handler
	out     *events
	// shown are the marks of the parts that the browser has, by their ids.
	shown map[string]string
	sub   *live.Subscription
	// failures counts the failures since the last success.
	failures int
}

// stream keeps an open page current until the browser leaves or the session ends.
func (s *Site) stream(w http.ResponseWriter, r *Request, h Handler) {
	t := &tab{site: s, request: r, handler: h, out: newEvents(w), shown: marksOf(r.takeMarks())}
	defer t.close()
	fmt.Fprintf(w, "retry: %d\n\n", reconnect) //nolint:errcheck // the next write tells
	t.out.send("edition", s.Edition)
	for t.out.err == nil {
		before := s.Hub.Changes()
		took := t.update()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(max(pause, calm*took)):
		}
		// What changed before there was a subscription is not in it.
		if t.failures == 0 && t.missed(before) {
			continue
		}
		if !t.wait() {
			return
		}
	}
}

// missed reports whether the tab has just subscribed, and something has changed since before.
func (t *tab) missed(before uint64) bool {
	fresh := t.sub != nil && t.sub.Fresh()
	return fresh && t.site.Hub.Changes() != before
}

// wait waits until the page should be made again, and reports whether the tab is still there.
func (t *tab) wait() bool {
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	var changed <-chan struct{}
	if t.sub != nil {
		changed = t.sub.C
	}
	var retry <-chan time.Time
	if t.failures > 0 {
		retry = time.After(min(retryFirst<<min(t.failures-1, 10), retryMost))
	}
	for t.out.err == nil {
		select {
		case <-t.request.Context().Done():
			return false
		case <-changed:
			return true
		case <-retry:
			return true
		case <-alive.C:
			p, ok, err := t.site.Who(t.request.Request)
			switch {
			case err != nil: // nobody knows; the page stays
			case !ok || p.Key() != t.request.Person.Key():
				t.out.send("leave", "")
				return false
			}
			t.out.send("alive", "")
		}
	}
	return false
}

// update sends the parts that have changed, and returns how long it took to make them.
func (t *tab) update() time.Duration {
	s, r := t.site, t.request
	page, parts, took, err := s.redraw(r, t.handler)
	if err == nil {
		err = t.follow(page.Topics)
	}
	if err != nil {
		t.failures++
		if r.Context().Err() == nil {
			t.out.send("trouble", s.explain(r, err).Says)
		}
		return took
	}
	t.failures = 0
	var changed []drawn
	for _, part := range parts {
		if t.shown[part.ID] != part.Mark {
			t.shown[part.ID] = part.Mark
			changed = append(changed, part)
		}
	}
	if len(changed) == 0 {
		t.out.send("same", "")
		return took
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false) // it is parsed as JSON, and not as HTML
	if err := encoder.Encode(changed); err != nil {
		t.out.err = err
		return took
	}
	t.out.send("parts", strings.TrimSpace(data.String()))
	return took
}

// follow subscribes to the topics of a page, which may differ from those that it had.
func (t *tab) follow(topics []live.Topic) error {
	if t.sub != nil && t.sub.Covers(topics) {
		return nil
	}
	sub, err := t.site.Hub.Subscribe(t.request.Context(), topics)
	if err != nil {
		return err
	}
	t.close()
	t.sub = sub
	return nil
}

func (t *tab) close() {
	if t.sub != nil {
		t.sub.Close()
	}
}

// makeTime limits the time in which a page is made.
const makeTime = 20 * time.Second

// redraw makes a page again. Pages of many tabs are made a few at a time, and tabs of one browser that
// show the same share what one of them has made.
func (s *Site) redraw(r *Request, h Handler) (page *Page, parts []drawn, took time.Duration, err error) {
	select {
	case s.redraws <- struct{}{}:
		defer func() { <-s.redraws }()
	case <-r.Context().Done():
		return nil, nil, 0, r.Context().Err()
	}
	began := time.Now()
	changes := s.Hub.Changes()
	key := r.Person.Key() + " " + r.URL.RequestURI() + " " + r.Header.Get("Cookie")
	if made, ok := s.made.get(key, changes); ok {
		return made.page, made.parts, time.Since(began), nil
	}
	again := *r
	again.Now = s.Now()
	ctx, cancel := context.WithTimeout(r.Context(), makeTime)
	defer cancel()
	again.Request = r.WithContext(ctx)
	if page, err = h(&again); err == nil {
		parts, err = s.draw(page)
	}
	if err == nil {
		s.made.put(key, made{page, parts, changes, again.Now})
	}
	return page, parts, time.Since(began), err
}

// takeMarks removes what the browser already shows from the address, which is then that of the page.
func (r *Request) takeMarks() string {
	query := r.URL.Query()
	marks := query.Get("marks")
	query.Del("marks")
	r.URL.RawQuery = query.Encode()
	return marks
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

func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	return &events{w: w, control: http.NewResponseController(w)}
}

// lineEnds are what ends a line of an event: text from outside must not begin another event.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// send sends one event.
func (e *events) send(name, data string) {
	if e.err != nil {
		return
	}
	e.control.SetWriteDeadline(time.Now().Add(patience)) //nolint:errcheck // a server without deadlines only waits longer
	var text strings.Builder
	text.WriteString("event: " + name + "\n")
	for line := range strings.SplitSeq(lineEnds.Replace(data), "\n") {
		text.WriteString("data: " + line + "\n")
	}
	text.WriteString("\n")
	if _, e.err = e.w.Write([]byte(text.String())); e.err == nil {
		e.err = e.control.Flush()
	}
}
