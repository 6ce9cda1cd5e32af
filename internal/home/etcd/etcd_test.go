// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/home/pki"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// fixture is a directory with an authority, a serving and a client certificate.
type fixture struct {
	dir           string
	server        *tls.Config
	client        *tls.Config
	withoutClient *tls.Config
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	f := fixture{dir: t.TempDir()}
	if err := f.load(); err != nil {
		t.Fatal(err)
	}
	return f
}

// load reads or makes the certificates in the directory.
func (f *fixture) load() error {
	authority, err := pki.OpenAuthority(filepath.Join(f.dir, "ca"), "etcd", time.Now())
	if err != nil {
		return err
	}
	load := func(leaf pki.Leaf) tls.Certificate {
		if err != nil {
			return tls.Certificate{}
		}
		if _, err = authority.Keep(leaf, time.Now()); err != nil {
			return tls.Certificate{}
		}
		var pair *tls.Certificate
		if pair, err = leaf.Load(); err != nil {
			return tls.Certificate{}
		}
		return *pair
	}
	server := load(pki.Leaf{Base: filepath.Join(f.dir, "server"), CommonName: "etcd", Hosts: []string{"127.0.0.1"}, Life: time.Hour})
	client := load(pki.Leaf{Base: filepath.Join(f.dir, "client"), CommonName: "client", Life: time.Hour})
	f.server = &tls.Config{Certificates: []tls.Certificate{server}, ClientCAs: authority.Pool(),
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
	f.client = &tls.Config{Certificates: []tls.Certificate{client}, RootCAs: authority.Pool(), MinVersion: tls.VersionTLS13}
	f.withoutClient = &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS13}
	return err
}

func (f fixture) start(t *testing.T, dir string, change func(*Options)) *Server {
	t.Helper()
	options := Options{Dir: dir, TLS: f.server, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&options)
	}
	server, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func connect(t *testing.T, server *Server, config *tls.Config) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, TLS: config, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func get(t *testing.T, client *clientv3.Client, key string) string {
	t.Helper()
	response, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Kvs) == 0 {
		return ""
	}
	return string(response.Kvs[0].Value)
}

func put(t *testing.T, client *clientv3.Client, key, value string) {
	t.Helper()
	if _, err := client.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func TestClientWithoutCertificateIsRefused(t *testing.T) {
	f := newFixture(t)
	server := f.start(t, filepath.Join(f.dir, "data"), nil)
	defer server.Stop()
	put(t, connect(t, server, f.client), "a", "1")

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := connect(t, server, f.withoutClient).Get(ctx, "a"); err == nil {
		t.Error("a client without a certificate read a key")
	}
	connection, err := tls.Dial("tcp", strings.TrimPrefix(server.Endpoint(), "https://"), f.withoutClient)
	if err == nil {
		// With TLS 1.3 the refusal arrives with the first byte read.
		_, err = connection.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("handshake without a certificate: %v", err)
	}
}

func TestConfigurationWithoutClientCertificatesIsABug(t *testing.T) {
	f := newFixture(t)
	_, err := Start(t.Context(), Options{Dir: filepath.Join(f.dir, "data"), TLS: &tls.Config{}})
	if err == nil || !strings.Contains(err.Error(), "bug in Yuba") {
		t.Errorf("error %v", err)
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	f := newFixture(t)
	dir := filepath.Join(f.dir, "data")
	server := f.start(t, dir, nil)
	put(t, connect(t, server, f.client), "a", "1")
	server.Stop()
	select {
	case <-server.Done():
	default:
		t.Error("stopped, but not done")
	}
	server = f.start(t, dir, nil)
	defer server.Stop()
	if got := get(t, connect(t, server, f.client), "a"); got != "1" {
		t.Errorf("a = %q after a restart", got)
	}
}

func TestFullStoreMakesSpaceByItself(t *testing.T) {
	f := newFixture(t)
	log := &proctest.Log{}
	server := f.start(t, filepath.Join(f.dir, "data"), func(o *Options) {
		o.Quota, o.UpkeepEvery, o.Log = 4<<20, 20*time.Millisecond, slog.New(slog.NewTextHandler(log, nil))
	})
	defer server.Stop()
	client := connect(t, server, f.client)
	value := strings.Repeat("x", 200<<10)
	full := false
	for range 60 {
		if _, err := client.Put(t.Context(), "history", value); err != nil {
			full = true
			break
		}
	}
	if !full {
		t.Log("the store made space before a write was refused")
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err := client.Put(t.Context(), "after", "1")
		if err == nil && strings.Contains(log.Text(), "accepts changes again") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no space after 20 s: put says %v, log:\n%s", err, log.Text())
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := get(t, client, "history"); got != value {
		t.Error("making space lost the newest value")
	}
}

func TestStoreFullOfObjectsSaysSoAndRecoversWhenSomeGo(t *testing.T) {
	f := newFixture(t)
	log := &proctest.Log{}
	server := f.start(t, filepath.Join(f.dir, "data"), func(o *Options) {
		o.Quota, o.UpkeepEvery, o.Log = 4<<20, 20*time.Millisecond, slog.New(slog.NewTextHandler(log, nil))
	})
	defer server.Stop()
	client := connect(t, server, f.client)
	value := strings.Repeat("x", 200<<10)
	number := 0
	waitUntil(t, "the log says that objects fill the store", func() bool {
		// Each refusal makes room for what a rewritten file saves, until nothing is left to save.
		if _, err := client.Put(t.Context(), fmt.Sprintf("object-%d", number), value); err == nil {
			number++
		}
		return strings.Contains(log.Text(), "Delete objects that are no longer needed")
	})
	waitUntil(t, "it says what is in the way", func() bool {
		return strings.HasPrefix(server.Trouble(), "the API's store is full and refuses changes: make space")
	})
	if _, err := client.Delete(t.Context(), "object-", clientv3.WithPrefix()); err != nil {
		t.Fatalf("delete while full: %v", err)
	}
	waitUntil(t, "a write works again", func() bool {
		_, err := client.Put(t.Context(), "after", "1")
		return err == nil && server.Trouble() == ""
	})
}

// Those who write without a rest are refused while objects fill the store, and served again once
// some are deleted.
func TestWritersAreServedAgainAfterADeletion(t *testing.T) {
	f := newFixture(t)
	server := f.start(t, filepath.Join(f.dir, "data"), func(o *Options) {
		o.Quota, o.UpkeepEvery = 8<<20, 20*time.Millisecond
	})
	defer server.Stop()
	client := connect(t, server, f.client)
	value := strings.Repeat("x", 100<<10)
	var refused, served [4]atomic.Int64
	var deleted atomic.Bool
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range refused {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				// After the deletion nothing new is added.
				key := fmt.Sprintf("object-%d-%d", w, i)
				if deleted.Load() {
					key = fmt.Sprintf("after-%d", w)
				}
				_, err := client.Put(ctx, key, value)
				switch {
				case err != nil:
					refused[w].Add(1)
				case deleted.Load():
					served[w].Add(1)
				}
			}
		})
	}
	all := func(counters *[4]atomic.Int64) func() bool {
		return func() bool {
			return !slices.ContainsFunc([]int{0, 1, 2, 3}, func(w int) bool { return counters[w].Load() == 0 })
		}
	}
	waitUntil(t, "every writer was refused", all(&refused))
	waitUntil(t, "it says what is in the way", func() bool { return server.Trouble() != "" })
	deleted.Store(true)
	if _, err := client.Delete(t.Context(), "object-", clientv3.WithPrefix()); err != nil {
		t.Fatalf("delete while full: %v", err)
	}
	waitUntil(t, "every writer is served", all(&served))
	stop()
	writers.Wait()
}

func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !happened(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited two minutes until %s", what)
		}
	}
}

func TestIsWasteful(t *testing.T) {
	const mib = 1 << 20
	for sentence, test := range map[string]struct {
		size size
		want bool
	}{
		"a small file is left alone":                     {size{60 * mib, 1 * mib}, false},
		"half empty and large is rewritten":              {size{200 * mib, 90 * mib}, true},
		"mostly used is left alone":                      {size{200 * mib, 150 * mib}, false},
		"a third empty is left alone far from the quota": {size{600 * mib, 400 * mib}, false},
		"a third empty is rewritten when near the quota": {size{900 * mib, 600 * mib}, true},
		"full of objects near the quota gains nothing":   {size{990 * mib, 980 * mib}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := test.size.isWasteful(1000 * mib); got != test.want {
				t.Errorf("isWasteful = %v, want %v", got, test.want)
			}
		})
	}
}

func TestSnapshotIsRestoredWithHigherRevisions(t *testing.T) {
	f := newFixture(t)
	server := f.start(t, filepath.Join(f.dir, "data"), nil)
	client := connect(t, server, f.client)
	put(t, client, "a", "before")

	path := filepath.Join(f.dir, "snapshot.db")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := server.Snapshot()
	put(t, client, "a", "after")
	written, err := snapshot.WriteTo(file)
	if err != nil || written != snapshot.Size() {
		t.Fatalf("wrote %d of %d bytes, error %v", written, snapshot.Size(), err)
	}
	if err := snapshot.Close(); err != nil {
		t.Fatal(err)
	}
	file.Close()
	newest := server.member.Server.KV().Rev()
	server.Stop()

	restored := filepath.Join(f.dir, "restored")
	if err := Restore(path, restored, "", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	server = f.start(t, restored, nil)
	defer server.Stop()
	if got := get(t, connect(t, server, f.client), "a"); got != "before" {
		t.Errorf("a = %q, want the value of the snapshot", got)
	}
	if revision := server.member.Server.KV().Rev(); revision <= newest {
		t.Errorf("revision %d is not above the %d that clients may have seen", revision, newest)
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(f.dir, "snapshot.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 4096+32), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Restore(path, filepath.Join(f.dir, "restored"), "", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a file that is no snapshot was restored")
	}
}
