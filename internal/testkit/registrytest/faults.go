// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
)

// Break puts a fault in front of the requests whose path contains a text; nil removes it. It answers
// as a broken network, proxy or server between the registry and its clients would.
func (r *Registry) Break(path string, fault faulttest.Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults == nil {
		r.faults = map[string]faulttest.Fault{}
	}
	if r.faults[path] = fault; fault == nil {
		delete(r.faults, path)
	}
}

// Requests counts the requests so far whose path contains a text.
func (r *Registry) Requests(path string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, count := range r.paths {
		if strings.Contains(p, path) {
			n += count
		}
	}
	return n
}

// broken notes a request, and reports whether a fault answered it.
func (r *Registry) broken(w http.ResponseWriter, req *http.Request) bool {
	r.mu.Lock()
	if r.paths == nil {
		r.paths = map[string]int{}
	}
	r.paths[req.URL.Path]++
	var fault faulttest.Fault
	for path, f := range r.faults {
		if strings.Contains(req.URL.Path, path) {
			fault = f
		}
	}
	r.mu.Unlock()
	return fault != nil && fault(w, req)
}

// HTML answers with a page, as captive portals and proxies do.
func HTML(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>Please log in.</body></html>\n")
	return true
}

// TooMany answers 429 and asks to wait for some seconds.
func TooMany(seconds int) faulttest.Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return true
	}
}

// Endless sends zeros for ever, with the beginning of a JSON document before them.
func Endless(w http.ResponseWriter, r *http.Request) bool {
	_, _ = io.WriteString(w, `{"versions":[{"version":"`)
	zeros := bytes.Repeat([]byte("0"), 64<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(zeros); err != nil {
			break
		}
	}
	return true
}

// Redirect sends clients elsewhere.
func Redirect(to string) faulttest.Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, to, http.StatusFound)
		return true
	}
}

// Changed lets the registry answer, and changes its answer on the way.
func (r *Registry) Changed(change func(body []byte) []byte) faulttest.Fault {
	return func(w http.ResponseWriter, req *http.Request) bool {
		recorder := httptest.NewRecorder()
		r.serve(recorder, req)
		body := change(recorder.Body.Bytes())
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(body)
		return true
	}
}

// Cut sends this share of an answer and resets the connection; with ever false only once.
func (r *Registry) Cut(share float64, ever bool) faulttest.Fault {
	done := false
	return func(w http.ResponseWriter, req *http.Request) bool {
		r.mu.Lock()
		again := !done || ever
		done = true
		r.mu.Unlock()
		if !again {
			return false
		}
		recorder := httptest.NewRecorder()
		r.serve(recorder, req)
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(recorder.Body.Len()))
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes()[:int(float64(recorder.Body.Len())*share)])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// Silent sends the first half of an answer and then nothing, until the client leaves.
func (r *Registry) Silent(w http.ResponseWriter, req *http.Request) bool {
	recorder := httptest.NewRecorder()
	r.serve(recorder, req)
	w.Header().Set("Content-Length", strconv.Itoa(recorder.Body.Len()))
	_, _ = w.Write(recorder.Body.Bytes()[:recorder.Body.Len()/2])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	<-req.Context().Done()
	return true
}
