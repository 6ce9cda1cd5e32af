// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/home/pki"
)

// TestReplacedCertificateFilesAreServed replaces the files one after the other, as cert-manager and
// scripts do.
func TestReplacedCertificateFilesAreServed(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	authority, err := pki.OpenAuthority(filepath.Join(dir, "ca"), "test", now)
	if err != nil {
		t.Fatal(err)
	}
	issue := func(name string) (cert, key []byte) {
		leaf := pki.Leaf{Base: filepath.Join(dir, name), CommonName: "test", Hosts: []string{name + ".example.com"}, Life: time.Hour}
		_, err := authority.Keep(leaf, now)
		cert, readCert := os.ReadFile(leaf.CertificateFile())
		key, readKey := os.ReadFile(leaf.KeyFile())
		if err := errors.Join(err, readCert, readKey); err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	written := now
	write := func(path string, data []byte) {
		written = written.Add(time.Second) // file systems count time in milliseconds
		if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := certificateFiles(certFile, keyFile, func() time.Time { return now }); err == nil {
		t.Fatal("missing files were accepted")
	}
	cert, key := issue("first")
	write(certFile, cert)
	write(keyFile, key)
	get, err := certificateFiles(certFile, keyFile, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	serves := func(when, name string) {
		t.Helper()
		got, err := get(nil)
		if err != nil || got.Leaf.VerifyHostname(name+".example.com") != nil {
			t.Errorf("%s: not the certificate of %s, %v", when, name, err)
		}
	}
	serves("at first", "first")
	now = now.Add(time.Minute)
	cert, key = issue("second")
	write(certFile, cert)
	serves("with the key of the first", "first")
	write(keyFile, key)
	serves("within the same ten seconds", "first")
	now = now.Add(time.Minute)
	serves("with both", "second")
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	serves("without files", "second")
}
