// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificates of a cluster. All machines derive it from the join token, so that nothing is
// exchanged when a machine joins. k3s does exchange it: this is a shortcut of the stand-in.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	dir  string
}

func newAuthority(token, dir string) (authority, error) {
	seed, err := hkdf.Key(sha256.New, []byte(token), nil, "authority of the cluster", ed25519.SeedSize)
	if err != nil {
		return authority{}, err
	}
	a := authority{key: ed25519.NewKeyFromSeed(seed), dir: dir}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "local-machines"},
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return a, err
	}
	return a, a.sign(a.cert, a.key, "ca")
}

func (a authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a authority) sign(template *x509.Certificate, key crypto.Signer, name string) error {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePEM(a.file(name+".crt"), "CERTIFICATE", der)
}

// issue writes a certificate for a name as a client and a server, with its key and a kubeconfig.
func (a authority) issue(file, name, group, server string, hosts ...string) error {
	key, err := newKey(a.file(file + ".key"))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	if err := a.sign(template, key, file); err != nil {
		return fmt.Errorf("issue the certificate of %s: %w", name, err)
	}
	return a.writeKubeconfig(a.file(file+".kubeconfig"), file, server)
}

func newKey(path string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// writeKubeconfig writes a kubeconfig with everything in it, in the form of k3s.
func (a authority) writeKubeconfig(path, identity, server string) error {
	var data [3]string
	for i, name := range []string{"ca.crt", identity + ".crt", identity + ".key"} {
		text, err := os.ReadFile(a.file(name))
		if err != nil {
			return err
		}
		data[i] = base64.StdEncoding.EncodeToString(text)
	}
	return writeWhole(path, fmt.Appendf(nil, `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: %s
  name: default
contexts:
- context:
    cluster: default
    user: default
  name: default
current-context: default
kind: Config
preferences: {}
users:
- name: default
  user:
    client-certificate-data: %s
    client-key-data: %s
`, data[0], server, data[1], data[2]))
}
