// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	authority, err := OpenAuthority(filepath.Join(dir, "ca"), "test-ca", start)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func leafIn(dir string) Leaf {
	return Leaf{Base: filepath.Join(dir, "leaf"), CommonName: "server", Hosts: []string{"localhost", "127.0.0.1", "::1"},
		Life: 90 * 24 * time.Hour}
}

func TestKeep(t *testing.T) {
	day := 24 * time.Hour
	for sentence, test := range map[string]struct {
		change  func(*Leaf, string)
		later   time.Duration
		renewed bool
	}{
		"a fresh certificate stays":                     {later: day},
		"before two thirds of its life it stays":        {later: 59 * day},
		"after two thirds of its life it is renewed":    {later: 61 * day, renewed: true},
		"an expired one is renewed":                     {later: 91 * day, renewed: true},
		"a clock before its time means a new one":       {later: -day, renewed: true},
		"another host means a new one":                  {change: func(l *Leaf, _ string) { l.Hosts = append(l.Hosts, "yuba.lan") }, renewed: true},
		"another name means a new one":                  {change: func(l *Leaf, _ string) { l.CommonName = "other" }, renewed: true},
		"a damaged certificate is replaced":             {change: func(l *Leaf, _ string) { spoil(l.CertificateFile()) }, renewed: true},
		"a damaged key is replaced with its pair":       {change: func(l *Leaf, _ string) { spoil(l.KeyFile()) }, renewed: true},
		"a missing certificate is made":                 {change: func(l *Leaf, _ string) { os.Remove(l.CertificateFile()) }, renewed: true},
		"another authority means a new one":             {change: func(_ *Leaf, dir string) { os.Remove(dir + "/ca.crt") }, renewed: true},
		"an authority opened again is still the same":   {change: func(*Leaf, string) {}},
		"a leaf that lost its hosts becomes a client's": {change: func(l *Leaf, _ string) { l.Hosts = nil }, renewed: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			leaf := leafIn(dir)
			if renewed, err := open(t, dir).Keep(leaf, start); err != nil || !renewed {
				t.Fatalf("first certificate: renewed %v, error %v", renewed, err)
			}
			if test.change != nil {
				test.change(&leaf, dir)
			}
			renewed, err := open(t, dir).Keep(leaf, start.Add(test.later))
			if err != nil {
				t.Fatal(err)
			}
			if renewed != test.renewed {
				t.Errorf("renewed = %v, want %v", renewed, test.renewed)
			}
			if _, err := leaf.Load(); err != nil {
				t.Errorf("the pair does not fit: %v", err)
			}
		})
	}
}

func spoil(path string) {
	if err := os.WriteFile(path, []byte("spoilt"), 0o600); err != nil {
		panic(err)
	}
}

func TestLeafServesOrIsAClientButNeverBoth(t *testing.T) {
	dir := t.TempDir()
	authority := open(t, dir)
	server := leafIn(dir)
	client := Leaf{Base: filepath.Join(dir, "client"), CommonName: "admin", Groups: []string{"system:masters"}, Life: time.Hour}
	for _, leaf := range []Leaf{server, client} {
		if _, err := authority.Keep(leaf, start); err != nil {
			t.Fatal(err)
		}
	}
	verify := func(leaf Leaf, usage x509.ExtKeyUsage) error {
		pair, err := leaf.Load()
		if err != nil {
			t.Fatal(err)
		}
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: authority.Pool(), CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{usage}})
		return err
	}
	if err := verify(server, x509.ExtKeyUsageServerAuth); err != nil {
		t.Errorf("server as server: %v", err)
	}
	if err := verify(client, x509.ExtKeyUsageClientAuth); err != nil {
		t.Errorf("client as client: %v", err)
	}
	if verify(server, x509.ExtKeyUsageClientAuth) == nil {
		t.Error("a server's certificate authenticates a client")
	}
	if verify(client, x509.ExtKeyUsageServerAuth) == nil {
		t.Error("a client's certificate serves")
	}
}

func TestPrivateKeysArePrivate(t *testing.T) {
	dir := t.TempDir()
	if _, err := open(t, dir).Keep(leafIn(dir), start); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ca.key", "leaf.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, got)
		}
	}
}
