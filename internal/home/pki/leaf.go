// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

// Leaf describes a certificate that an authority keeps in BASE.crt and BASE.key.
type Leaf struct {
	Base string
	// CommonName and Groups are the identity of a client.
	CommonName string
	Groups     []string
	// Hosts are the names and addresses of a server. A leaf without hosts is for a client.
	Hosts []string
	// Life is how long a certificate is valid.
	Life time.Duration
}

// CertificateFile returns the path of the certificate.
func (l Leaf) CertificateFile() string { return l.Base + ".crt" }

// KeyFile returns the path of the private key.
func (l Leaf) KeyFile() string { return l.Base + ".key" }

// Load reads the pair.
func (l Leaf) Load() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(l.CertificateFile(), l.KeyFile())
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s: %w", l.CertificateFile(), err)
	}
	return &pair, nil
}

// Keep ensures that the leaf's files hold a good certificate, and reports whether it had to sign a
// new one.
func (a *Authority) Keep(leaf Leaf, now time.Time) (renewed bool, err error) {
	key, err := readKey(leaf.KeyFile())
	if err != nil {
		// Only this leaf depends on the key, so a missing or unreadable one can be replaced.
		if key, err = makeKey(leaf.KeyFile()); err != nil {
			return false, err
		}
	}
	data, err := os.ReadFile(leaf.CertificateFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("read the certificate %s: %w", leaf.CertificateFile(), err)
	}
	if current, err := parseCertificate(data); err == nil && a.isGood(current, leaf, key, now) {
		return false, nil
	}
	return true, a.sign(leaf, key, now)
}

// isGood reports whether the certificate can be used as it is.
func (a *Authority) isGood(c *x509.Certificate, leaf Leaf, key crypto.Signer, now time.Time) bool {
	public, ok := c.PublicKey.(*ecdsa.PublicKey)
	if !ok || !public.Equal(key.Public()) || c.CheckSignatureFrom(a.certificate) != nil {
		return false
	}
	names, addresses := splitHosts(leaf.Hosts)
	sameHosts := slices.Equal(c.DNSNames, names) && slices.EqualFunc(c.IPAddresses, addresses, net.IP.Equal)
	sameSubject := c.Subject.CommonName == leaf.CommonName && slices.Equal(c.Subject.Organization, leaf.Groups)
	renewAt := c.NotAfter.Add(-leaf.Life / 3)
	return sameHosts && sameSubject && now.Before(renewAt) && !now.Before(c.NotBefore)
}

func (a *Authority) sign(leaf Leaf, key crypto.Signer, now time.Time) error {
	serial, err := newSerial()
	if err != nil {
		return err
	}
	names, addresses := splitHosts(leaf.Hosts)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: leaf.CommonName, Organization: leaf.Groups},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(leaf.Life),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		DNSNames:              names,
		IPAddresses:           addresses,
	}
	if len(leaf.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign the certificate %s: %w", leaf.CertificateFile(), err)
	}
	_, err = writeCertificate(leaf.CertificateFile(), der)
	return err
}

func splitHosts(hosts []string) (names []string, addresses []net.IP) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, host)
		}
	}
	return names, addresses
}
