// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
)

func newKey(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case declare.P256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case declare.RSA3072:
		return rsa.GenerateKey(rand.Reader, 3072)
	case declare.RSA4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

func encode(kind string, der []byte) decide.Value {
	return decide.Value(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func privateText(key crypto.Signer) (decide.Value, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return encode("PRIVATE KEY", der), err
}

func keyPair(s *declare.Secret) (map[string]decide.Value, error) {
	key, err := newKey(s.KeyPair.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	private, err := privateText(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode the public key: %w", err)
	}
	made := map[string]decide.Value{s.Name + "_private": private, s.Name + "_public": encode("PUBLIC KEY", der)}
	if s.KeyPair.SSH {
		public, err := ssh.NewPublicKey(key.Public())
		if err != nil {
			return nil, fmt.Errorf("encode the public key for SSH: %w", err)
		}
		made[s.Name+"_ssh"] = decide.Value(ssh.MarshalAuthorizedKey(public))
	}
	return made, nil
}

// skew is how much earlier certificates begin: clocks differ.
const skew = 5 * time.Minute

func certificate(s *declare.Secret, signers map[string]decide.Value, now time.Time) (map[string]decide.Value, *time.Time, error) {
	c := s.Certificate
	key, err := newKey(c.Algorithm)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, fmt.Errorf("read randomness: %w", err)
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: c.CommonName}, NotBefore: now.Add(-skew), NotAfter: now.Add(c.ValidFor),
		DNSNames: c.DNSNames, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: c.CA}
	for _, text := range c.IPAddresses {
		t.IPAddresses = append(t.IPAddresses, net.ParseIP(text))
	}
	if c.CA {
		t.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	} else {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	parent, parentKey := t, key
	if c.SignedBy != "" {
		if parent, parentKey, err = signer(c.SignedBy, signers); err != nil {
			return nil, nil, err
		}
		if parent.NotAfter.Before(t.NotAfter) {
			t.NotAfter = parent.NotAfter
		}
		if !now.Before(t.NotAfter) {
			return nil, nil, fmt.Errorf("the certificate of its signer %s expired at %s; rotate both", c.SignedBy, parent.NotAfter.Format(time.RFC3339))
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate: %w", err)
	}
	private, err := privateText(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the key: %w", err)
	}
	own := encode("CERTIFICATE", der)
	ca := own
	if c.SignedBy != "" {
		ca = signers[c.SignedBy+"_certificate"]
	}
	expires := t.NotAfter
	return map[string]decide.Value{s.Name + "_certificate": own, s.Name + "_key": private, s.Name + "_ca": ca}, &expires, nil
}

// signer reads the certificate and the key of a signer.
func signer(name string, values map[string]decide.Value) (*x509.Certificate, crypto.Signer, error) {
	broken := func(what string) error {
		return fmt.Errorf("its signer %s does not have a usable %s in the store; rotate both", name, what)
	}
	block, _ := pem.Decode([]byte(values[name+"_certificate"].Reveal()))
	if block == nil {
		return nil, nil, broken("certificate")
	}
	parent, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, broken("certificate") // the error may quote it
	}
	if block, _ = pem.Decode([]byte(values[name+"_key"].Reveal())); block == nil {
		return nil, nil, broken("key")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, broken("key")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, nil, broken("key")
	}
	return parent, signer, nil
}
