// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dbtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// pair is a certificate and its key, PEM.
type pair struct{ certificate, key []byte }

// certificates makes an authority, and with it a server certificate for localhost and a client
// certificate.
func certificates() (authority, server, client pair, err error) {
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of the tests"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return
	}
	if authority, err = signed(ca, caKey, ca, caKey); err != nil {
		return
	}
	issue := func(serial int64, name string, use x509.ExtKeyUsage, hosts ...string) (pair, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return pair{}, err
		}
		return signed(&x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: hosts,
			NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
		}, key, ca, caKey)
	}
	if server, err = issue(2, "server", x509.ExtKeyUsageServerAuth, "localhost"); err != nil {
		return
	}
	client, err = issue(3, Username, x509.ExtKeyUsageClientAuth)
	return
}

func signed(of *x509.Certificate, key *ecdsa.PrivateKey, by *x509.Certificate, byKey *ecdsa.PrivateKey) (pair, error) {
	certificate, err := x509.CreateCertificate(rand.Reader, of, by, &key.PublicKey, byKey)
	if err != nil {
		return pair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}
