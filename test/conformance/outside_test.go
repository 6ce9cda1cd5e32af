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

// outside is the world around the controller: the server of sources' archives, and whatever services programs, health
// checks and webhooks talk to.
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

// ServeHTTP lets whoever registered the path answer.
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

// serve answers a path from now on, and returns its URL.
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
		rw.Write(data) //nolint:errcheck // the controller tells when it could not read
	})
	return url, "sha256:" + sum
}

// program is the files of a source.
type program map[string]string

// and is the program with more files, or other ones in their place.
func (p program) and(more program) program {
	all := maps.Clone(p)
	maps.Copy(all, more)
	return all
}

// pack makes the archive that source-controller would make of the files.
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

// variable is something in the world that a program reads with thing (see programs_test.go) and that a case changes.
type variable struct {
	url string

	mu    sync.Mutex
	value string
	reads int
	fails bool
	// gate holds whoever reads, until letGo.
	gate  chan struct{}
	letGo func()
}

// hold has whoever reads wait, at most until the case is over.
func (v *variable) hold(w *world) {
	v.gate = make(chan struct{})
	v.letGo = sync.OnceFunc(func() { close(v.gate) })
	w.Cleanup(v.letGo)
}

// set changes what programs read.
func (v *variable) set(value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.value = value
}

// fail has the world refuse to be read, or not any more.
func (v *variable) fail(yes bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fails = yes
}

// readAtLeast is an error unless programs have read so often.
func (v *variable) readAtLeast(times int) error {
	if n := v.read(); n < times {
		return fmt.Errorf("it was read %d times, want %d", n, times)
	}
	return nil
}

// read counts how often programs have read.
func (v *variable) read() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads
}

// thing makes something in the world that the program of the world's stacks reads.
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
			// Nothing there is an answer that the tool does not ask for again, as it does after an error.
			http.NotFound(rw, nil)
			return
		}
		fmt.Fprintf(rw, `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"thing","resources":[],`+
			`"outputs":{"value":{"value":%q,"type":"string"}}}`, v.value)
	})
	return v
}
