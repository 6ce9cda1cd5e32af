// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// outside is the suite's HTTP server: it serves archives of sources, and services for programs,
// health checks and webhooks.
type outside struct {
	url, address string

	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
}

func openOutside(t *testing.T) *outside {
	t.Helper()
	listener, err := net.Listen("tcp", *serveAddress)
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{handlers: map[string]http.HandlerFunc{}, address: listener.Addr().String()}
	server := httptest.NewUnstartedServer(o)
	server.Listener.Close() //nolint:errcheck // it has one of its own, which is not wanted
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	o.url = *serveURL
	if o.url == "" {
		o.url = "http://" + o.address
	}
	return o
}

// ServeHTTP calls the handler of the path.
func (o *outside) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	o.mu.Lock()
	handler := o.handlers[req.URL.Path]
	o.mu.Unlock()
	if handler == nil {
		http.NotFound(rw, req)
		return
	}
	handler(rw, req)
}

// serve sets the handler of a path, and returns its URL.
func (o *outside) serve(path string, handler http.HandlerFunc) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers[path] = handler
	return o.url + path
}

// archive serves the bytes and returns their URL and digest.
func (o *outside) archive(data []byte) (url, digest string) {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	url = o.serve("/artifacts/"+sum+".tar.gz", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Write(data) //nolint:errcheck // the controller reports a failed read
	})
	return url, "sha256:" + sum
}

// program contains the files of a source.
type program map[string]string

// and returns the program with additional or replaced files.
func (p program) and(more program) program {
	all := maps.Clone(p)
	maps.Copy(all, more)
	return all
}

// pack makes an archive of the files, like source-controller.
func (p program) pack(t testing.TB) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(p[name])), Mode: 0o644}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(p[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// variable is a value that a program reads over HTTP (see programs_test.go) and that a case
// changes.
type variable struct {
	url string

	mu    sync.Mutex
	value string
	reads int
	fails bool
	// gate holds readers until letGo.
	gate  chan struct{}
	letGo func()
}

// hold makes readers wait, at most until the case ends.
func (v *variable) hold(w *world) {
	v.gate = make(chan struct{})
	v.letGo = sync.OnceFunc(func() { close(v.gate) })
	w.Cleanup(v.letGo)
}

// set changes the value.
func (v *variable) set(value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.value = value
}

// fail makes reads fail, or succeed again.
func (v *variable) fail(yes bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fails = yes
}

// readAtLeast is an error if programs have read the value fewer times.
func (v *variable) readAtLeast(times int) error {
	if n := v.read(); n < times {
		return fmt.Errorf("it was read %d times, want %d", n, times)
	}
	return nil
}

// read counts the reads.
func (v *variable) read() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads
}

// thing creates a variable that the program of the world's stacks reads.
func (w *world) thing(name, value string) *variable {
	v := &variable{value: value}
	v.url = w.outside.serve("/things/"+w.namespace+"/"+name, func(rw http.ResponseWriter, _ *http.Request) {
		v.mu.Lock()
		v.reads++
		v.mu.Unlock()
		if v.gate != nil {
			<-v.gate
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.fails {
			// The tool does not retry after 404, unlike after other errors.
			http.NotFound(rw, nil)
			return
		}
		fmt.Fprintf(rw, `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"thing","resources":[],`+
			`"outputs":{"value":{"value":%q,"type":"string"}}}`, v.value)
	})
	return v
}
