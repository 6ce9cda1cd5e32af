// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serve starts a server whose handler is of the test.
func serve(t *testing.T, bodyTime time.Duration, handler http.HandlerFunc) (*Listener, string) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(inner, Limits{Total: 8, PerAddress: 8})
	server := NewServer(Knowing(l, handler), bodyTime, nil, slog.New(slog.DiscardHandler))
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l, inner.Addr().String()
}

// talk sends text and returns what comes until the connection ends.
func talk(t *testing.T, address, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("after %q: %v", answer, err)
	}
	return string(answer)
}

// A request whose body did not come was kept for minutes, also by handlers that read none.
func TestABodyThatDoesNotComeEndsTheConnection(t *testing.T) {
	_, address := serve(t, 100*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/reads":
			_, err := io.ReadAll(r.Body)
			fmt.Fprint(w, err)
			return
		case "/closes":
			_, err := io.ReadAll(r.Body)
			r.Body.Close() //nolint:errcheck // what it says is what was read
			fmt.Fprint(w, err)
			return
		}
		http.NotFound(w, r)
	})
	for path, want := range map[string]string{"/unknown": "404 Not Found", "/reads": "i/o timeout", "/closes": "i/o timeout"} {
		for _, length := range []string{"Content-Length: 1000\r\n\r\nbegin", "Transfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n"} {
			began := time.Now()
			answer := talk(t, address, "POST "+path+" HTTP/1.1\r\nHost: x\r\n"+length)
			if took := time.Since(began); took > 10*time.Second || !strings.Contains(answer, want) {
				t.Errorf("%s: after %s the answer is %q, want one with %q", path, took, answer, want)
			}
		}
	}
}

// A handler may take longer than a body.
func TestARequestOutlivesItsBodysDeadline(t *testing.T) {
	_, address := serve(t, 100*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			fmt.Fprintf(w, "ended: %v", context.Cause(r.Context()))
		case <-time.After(500 * time.Millisecond):
			fmt.Fprintf(w, "%s %v", body, err)
		}
	})
	if answer := talk(t, address, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nwhole"); !strings.HasSuffix(answer, "whole <nil>") {
		t.Errorf("the answer is %q", answer)
	}
}

// deadlines records what is set.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// A long body may take as long as it comes, and no longer.
func TestDeadlinesMoveWithTheBody(t *testing.T) {
	d := &deadlines{}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.LimitReader(endless{}, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	Bodies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); n != 1<<20 || err != nil {
			t.Error(n, err)
		}
	}), 0).ServeHTTP(d, r)
	if len(d.set) < 20 || len(d.set) > 1<<20/bodyStep+2 {
		t.Fatalf("%d deadlines", len(d.set))
	}
	for _, at := range d.set[:len(d.set)-1] {
		if in := at.Sub(began); in < bodyGrace-time.Second || in > bodyPause+time.Minute {
			t.Errorf("a deadline in %s", in)
		}
	}
	if last := d.set[len(d.set)-1]; !last.IsZero() {
		t.Errorf("after the body, there is a deadline at %s", last)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return min(len(b), 4096), nil }

func TestWhoIsAuthenticatedIsKnown(t *testing.T) {
	l, address := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/public" {
			Authenticated(r.Context())
		}
		fmt.Fprint(w, "yes")
	})
	for request, want := range map[string]bool{"/ HTTP/1.1\r\nAuthorization: Bearer good": true, "/ HTTP/1.1\r\nAuthorization: Bearer bad": false,
		"/public HTTP/1.1\r\nAuthorization: Bearer good": false} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET "+request+"\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		known := l.open[conn.LocalAddr().String()].known.Load()
		l.mu.Unlock()
		if known != want {
			t.Errorf("%q is known: %v", request, known)
		}
	}
}
