// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// BenchmarkArchive downloads an archive from the registry and from plain net/http in turns, both on
// this machine, and reports the speed of each and their ratio. The registry listens as in production.
func BenchmarkArchive(b *testing.B) {
	for name, encrypted := range map[string]bool{"https": true, "http": false} {
		b.Run(name, func(b *testing.B) { benchmarkArchive(b, encrypted) })
	}
}

func benchmarkArchive(b *testing.B, encrypted bool) {
	const size, key = 256 << 20, "modules/acme/large/aws/acme-large-aws-1.0.0.tar.gz"
	s := newSite(b)
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	file, err := os.Create(path)
	if err == nil {
		_, err = io.CopyN(file, rand.NewChaCha8([32]byte{}), size)
	}
	if err != nil || file.Close() != nil {
		b.Fatal(err)
	}
	_, body := s.ask("GET", "/v1/modules/acme/large/aws/1.0.0/download", s.reader)
	var answer struct{ Location string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Location == "" {
		b.Fatal(body, err)
	}
	var config *tls.Config
	scheme := "http://"
	if encrypted {
		config, scheme = &tls.Config{Certificates: s.http.TLS.Certificates, MinVersion: tls.VersionTLS12}, "https://"
	}
	budget, err := listener.NewBudget()
	if err != nil {
		b.Fatal(err)
	}
	ours, plain := listening(b), listening(b)
	connections := listener.New(ours, budget.Share(25))
	serveUntilTheEnd(b, listener.NewServer(listener.Knowing(connections, s.server.Handler()), 0, config, slog.New(slog.DiscardHandler)), connections)
	serveUntilTheEnd(b, &http.Server{Handler: http.FileServer(http.Dir(filepath.Dir(path))), TLSConfig: config}, plain) //nolint:gosec // a benchmark's
	addresses := []string{scheme + ours.Addr().String() + "/v1/modules/acme/large/aws/1.0.0/" + strings.TrimPrefix(answer.Location, "./"),
		scheme + plain.Addr().String() + "/" + filepath.Base(path)}
	var took [2]time.Duration
	for i := 0; b.Loop(); i++ {
		for turn := range 2 {
			which := (i + turn) % 2
			began := time.Now()
			r, err := s.http.Client().Get(addresses[which])
			if err != nil {
				b.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r.Body)
			r.Body.Close()
			if err != nil || n != size {
				b.Fatal(r.Status, n, err)
			}
			took[which] += time.Since(began)
		}
	}
	speed := func(d time.Duration) float64 { return float64(b.N) * size / (1 << 20) / d.Seconds() }
	b.ReportMetric(speed(took[0]), "MiB/s")
	b.ReportMetric(speed(took[1]), "net/http-MiB/s")
	b.ReportMetric(speed(took[0])/speed(took[1]), "ratio")
}

func listening(b *testing.B) net.Listener {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// serveUntilTheEnd serves over TLS if the server has a configuration for it.
func serveUntilTheEnd(b *testing.B, server *http.Server, l net.Listener) {
	b.Helper()
	go func() {
		if server.TLSConfig != nil {
			server.ServeTLS(l, "", "") //nolint:errcheck // it is closed at the end
			return
		}
		server.Serve(l) //nolint:errcheck // it is closed at the end
	}()
	b.Cleanup(func() { server.Close() })
}
