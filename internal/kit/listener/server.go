// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"
)

const (
	// headerTime is what a request's header may take, and a TLS handshake before it.
	headerTime = 10 * time.Second
	// idleTime is how long a connection is kept between two requests.
	idleTime = 2 * time.Minute
	// maxHeader bounds a request's header; tokens of service accounts have one or two kilobytes.
	maxHeader = 64 << 10
	// bodyPause is how long a body may pause, bodyGrace what any may take, and bodyRate, in bytes a second, how fast it has
	// to come beyond that: slower than any network that people work over.
	bodyPause, bodyGrace = time.Minute, time.Minute
	bodyRate             = 4 << 10
)

// ShortBody is what the small bodies of people and programs may take.
const ShortBody = 30 * time.Second

// NewServer returns a server with the deadlines that all of ours have. Bodies may take bodyTime, or as long as they keep
// coming when that is 0. Without a TLS configuration it serves plain HTTP.
func NewServer(handler http.Handler, bodyTime time.Duration, config *tls.Config, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: Bodies(handler, bodyTime), TLSConfig: config,
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Bodies gives the bodies of requests deadlines, whether or not next reads them: a server reads what a handler left before
// it answers. They may take most, or as long as they keep coming when that is 0. http.Server.ReadTimeout would do for short
// ones, but ends the context of requests that take longer.
func Bodies(next http.Handler, most time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			b := &body{ReadCloser: r.Body, connection: http.NewResponseController(w), began: time.Now(), most: most}
			b.extend()
			r.Body = b
		}
		next.ServeHTTP(w, r)
	})
}

type body struct {
	io.ReadCloser
	connection *http.ResponseController
	began      time.Time
	most       time.Duration
	read       int64
	// whole is true once the body has been read to its end.
	whole bool
}

// extend lets the body come for another while.
func (b *body) extend() {
	deadline := b.began.Add(b.most)
	if b.most == 0 {
		deadline = b.began.Add(bodyGrace + time.Duration(b.read/bodyRate)*time.Second)
		if pause := time.Now().Add(bodyPause); pause.Before(deadline) {
			deadline = pause
		}
	}
	// Recorders of tests have no deadlines, and a connection that has ended needs none.
	_ = b.connection.SetReadDeadline(deadline)
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	before := b.read / bodyStep
	b.read += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		b.whole = true
		// From here on the server watches the connection for its end, for as long as the handler takes.
		_ = b.connection.SetReadDeadline(time.Time{}) // as in extend
	case err == nil && b.most == 0 && b.read/bodyStep > before:
		b.extend()
	}
	return n, err
}

// Close implements io.Closer. A body that has not come in full is left for the server to close: net/http takes one that a
// handler closed to have been read, and waits for another request where the rest of the body would come.
func (b *body) Close() error {
	if !b.whole {
		return nil
	}
	return b.ReadCloser.Close()
}

// bodyStep is after how many bytes the deadline is moved: at bodyRate, seconds' worth.
const bodyStep = 16 << 10

// Knowing tells the listener who has credentials: those who get an answer that is not a refusal.
func Knowing(l *Listener, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&answer{w, l, r.RemoteAddr}, r)
	})
}

type answer struct {
	http.ResponseWriter
	listener *Listener
	remote   string
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		a.know()
	}
	a.remote = "" // what follows a refusal tells nothing
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.know()
	return a.ResponseWriter.Write(b)
}

func (a *answer) know() {
	if a.remote != "" {
		a.listener.Know(a.remote)
		a.remote = ""
	}
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
