// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"
)

const (
	// headerTime limits a request's header, and a TLS handshake before it.
	headerTime = 10 * time.Second
	// idleTime is how long a connection is kept between two requests.
	idleTime = 2 * time.Minute
	// maxHeader limits a request's header; service account tokens have one or two kilobytes.
	maxHeader = 64 << 10
	// bodyPause limits pauses of a body. Each body may take bodyGrace; beyond that it must arrive
	// at bodyRate bytes a second, which is slower than any usable network.
	bodyPause, bodyGrace = time.Minute, time.Minute
	bodyRate             = 4 << 10
)

// ShortBody limits small bodies.
const ShortBody = 30 * time.Second

// NewServer returns a server with Yuba's deadlines. Bodies may take bodyTime; if it is 0, as long
// as they keep arriving. Without a TLS configuration it serves plain HTTP.
func NewServer(handler http.Handler, bodyTime time.Duration, config *tls.Config, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: Bodies(handler, bodyTime), TLSConfig: config,
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Bodies sets deadlines for request bodies, whether or not next reads them. They may take most; if
// it is 0, as long as they keep arriving. http.Server.ReadTimeout would end longer requests.
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
	// whole is true once the body has been read completely.
	whole bool
}

// extend extends the deadline of the body.
func (b *body) extend() {
	deadline := b.began.Add(b.most)
	if b.most == 0 {
		deadline = b.began.Add(bodyGrace + time.Duration(b.read/bodyRate)*time.Second)
		if pause := time.Now().Add(bodyPause); pause.Before(deadline) {
			deadline = pause
		}
	}
	// Ignore the error: test recorders have no deadlines, and a closed connection needs none.
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
		// From now on the server watches the connection for its end, while the handler runs.
		_ = b.connection.SetReadDeadline(time.Time{}) // as in extend
	case err == nil && b.most == 0 && b.read/bodyStep > before:
		b.extend()
	}
	return n, err
}

// Close implements io.Closer. It leaves an incomplete body for the server to close: net/http treats
// a body that a handler has closed as read, and would parse its rest as another request.
func (b *body) Close() error {
	if !b.whole {
		return nil
	}
	return b.ReadCloser.Close()
}

// bodyStep is the number of bytes after which the deadline moves: several seconds at bodyRate.
const bodyStep = 16 << 10

// knowingKey is the key in a request's context of the function that makes its connection known.
type knowingKey struct{}

// Knowing lets the handlers of next tell the listener, with [Authenticated], which connections have
// credentials. An answer proves nothing: strangers get some, too.
func Knowing(l *Listener, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		know := func() { l.Know(r.RemoteAddr) }
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), knowingKey{}, know)))
	})
}

// Authenticated makes the connection of a request known, after its handler has verified credentials.
// Without [Knowing] it does nothing.
func Authenticated(request context.Context) {
	if know, ok := request.Value(knowingKey{}).(func()); ok {
		know()
	}
}
