// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// Server is a place for states.
type Server struct {
	// Settings are those that everybody may know, Secret are credentials. A name BLOCK.NAME is one in a
	// block or an object.
	Settings, Secret map[string]string
	// Env are variables that tofu needs to find and trust the server.
	Env map[string]string
	// Authority is the certificate to trust, PEM; empty for a server without TLS.
	Authority []byte

	refused atomic.Int64
}

// Refused counts the requests without the credential.
func (s *Server) Refused() int { return int(s.refused.Load()) }

// patience limits the start of a server.
const patience = time.Minute

// program returns the path of a program in bin.
func program(t testing.TB, name ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{tofutest.RepositoryRoot(t), "bin"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the program %s is missing. Build it:\n    make backends", filepath.Base(path))
	}
	return path
}

// start starts a server that listens at the address, until the test ends.
func start(t testing.TB, address string, cmd *exec.Cmd) {
	t.Helper()
	log := &proctest.Log{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may be gone already
		cmd.Wait()         //nolint:errcheck // killed, of course
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close() //nolint:errcheck // nothing was sent
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not start: %v\n%s", filepath.Base(cmd.Path), err, log.Tail())
		}
	}
}

// port returns an address of this machine that is free, and its port.
func port(t testing.TB) (address, number string) {
	t.Helper()
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, number, err = net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return address, number
}

// guarded is a proxy to a server that lets only requests pass whose Authorization contains a text.
func (s *Server) guarded(address, credential string) http.Handler {
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = r.In.Host
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), credential) {
			s.refused.Add(1)
			http.Error(w, `{"error":{"code":401,"message":"Invalid Credentials"}}`, http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}
