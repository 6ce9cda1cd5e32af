// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authorityLife exceeds the life of a data directory, because replacing an authority would break
// every kubeconfig that was handed out.
const authorityLife = 100 * 365 * 24 * time.Hour

// clockSkew dates certificates back, for clients whose clock is late.
const clockSkew = 5 * time.Minute

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
	file        string
}

// OpenAuthority reads the authority from BASE.crt and BASE.key, or creates it if neither exists.
func OpenAuthority(base, commonName string, now time.Time) (*Authority, error) {
	certificatePEM, err := os.ReadFile(base + ".crt")
	if errors.Is(err, os.ErrNotExist) {
		return makeAuthority(base, commonName, now)
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	certificate, err := parseCertificate(certificatePEM)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority %s.crt: %w", base, err)
	}
	key, err := readKey(base + ".key")
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority's key: %w", err)
	}
	if !certificate.PublicKey.(*ecdsa.PublicKey).Equal(key.Public()) {
		return nil, fmt.Errorf("read the certificate authority %s: certificate and key do not match. "+
			"Restore both from one backup", base)
	}
	return &Authority{certificate: certificate, key: key, pem: certificatePEM, file: base + ".crt"}, nil
}

func makeAuthority(base, commonName string, now time.Time) (*Authority, error) {
	// Write the key first: after a crash in between there is no certificate, and the pair is
	// created again.
	key, err := makeKey(base + ".key")
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: commonName, Organization: []string{"Yuba"}},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("create the certificate authority: %w", err)
	}
	encoded, err := writeCertificate(base+".crt", der)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: certificate, key: key, pem: encoded, file: base + ".crt"}, nil
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return a.pem }

// File returns the path of the authority's certificate.
func (a *Authority) File() string { return a.file }

// Pool returns a pool that trusts only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	return serial.Add(serial, big.NewInt(1)), nil
}

func makeKey(path string) (crypto.Signer, error) {
	encoded, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, fmt.Errorf("create a private key: %w", err)
	}
	if err := datadir.WriteFile(path, encoded, 0o600); err != nil {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) (crypto.Signer, error) {
	key, err := keyutil.PrivateKeyFromFile(path)
	if err != nil {
		return nil, err
	}
	ours, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s does not contain an EC private key", path)
	}
	return ours, nil
}

func writeCertificate(path string, der []byte) ([]byte, error) {
	encoded := pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
	return encoded, datadir.WriteFile(path, encoded, 0o600)
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != cert.CertificateBlockType {
		return nil, errors.New("it does not contain a certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// MakeKey creates a private key in the file at path, unless the file exists.
func MakeKey(path string) error {
	_, err := readKey(path)
	if errors.Is(err, os.ErrNotExist) {
		_, err = makeKey(path)
	}
	return err
}
