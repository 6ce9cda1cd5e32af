// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// The modes of a connection's security.
const (
	tlsDisable    tenantv1.TLSMode = "disable"
	tlsRequire    tenantv1.TLSMode = "require"
	tlsVerifyCA   tenantv1.TLSMode = "verify-ca"
	tlsVerifyFull tenantv1.TLSMode = "verify-full"
)

// access is how to connect to a database.
type access struct {
	password string
	// tls is nil for none; plain says that a server without TLS is accepted.
	tls   *tls.Config
	plain bool
}

// anybody reports whether the server is not authenticated, so that it must not receive the password
// itself.
func (a *access) anybody() bool { return a.plain || a.tls == nil }

// hide masks the password in text from a server, in all usual encodings: a server that knows the
// password may repeat it.
func (a *access) hide(text string) string {
	secrets := mask.New()
	secrets.Add(a.password)
	text = secrets.Masker(mask.Mark).Text(text)
	// Masks treat a short number as a port or a count. Here it is known to be a password.
	if len(a.password) >= shortestNumber && strings.Trim(a.password, "0123456789") == "" {
		text = strings.ReplaceAll(text, a.password, mask.Mark)
	}
	return text
}

// shortestNumber is the number of digits from which a numeric password is masked everywhere.
const shortestNumber = 4

func newAccess(ctx context.Context, doing, host string, password *tenantv1.SecretRef, security *tenantv1.TLS, secrets Secrets) (*access, error) {
	if !nameable(host) {
		return nil, &Error{
			Class: Invalid, Doing: doing, Why: "the host " + quoted(host) + " is not a valid name or address",
			Then: "The port has its own field, and sockets on the server's disk are not supported",
		}
	}
	a := &access{}
	if password != nil {
		value, err := key(ctx, doing, secrets, password.Name, password.Key)
		if err != nil {
			return nil, err
		}
		a.password = string(value)
	}
	if security == nil {
		a.tls, a.plain = &tls.Config{InsecureSkipVerify: true, ServerName: host, MinVersion: tls.VersionTLS12}, true
		return a, nil
	}
	var err error
	a.tls, err = secured(ctx, doing, host, security, secrets)
	return a, err
}

// nameable reports whether a host is valid. Drivers accept a path for a socket and commas for a
// list; only IPv6 addresses have colons.
func nameable(host string) bool {
	if strings.Contains(host, ":") {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`/\,@?#"'`, r)
	})
}

func secured(ctx context.Context, doing, host string, security *tenantv1.TLS, secrets Secrets) (*tls.Config, error) {
	if security.Mode == tlsDisable {
		if security.CARef != nil || security.ClientSecretName != "" {
			return nil, &Error{Class: Invalid, Doing: doing, Why: "tls.mode is disable, and tls names certificates", Then: "Remove one of the two"}
		}
		return nil, nil
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if ref := security.CARef; ref != nil {
		authority, err := key(ctx, doing, secrets, ref.Name, ref.Key)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authority) {
			return nil, &Error{Class: Invalid, Doing: doing, Why: fmt.Sprintf("key %s of Secret %s does not contain a certificate", quoted(ref.Key), ref.Name)}
		}
	}
	if name := security.ClientSecretName; name != "" {
		certificate, err := keyPair(ctx, doing, secrets, name)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{*certificate}
	}
	switch security.Mode {
	case tlsRequire, tlsVerifyCA:
		// Go verifies both the chain and the host, or neither. A configured authority must be
		// verified.
		config.InsecureSkipVerify = true
		if security.Mode == tlsVerifyCA || config.RootCAs != nil {
			config.VerifyConnection = signedBy(config.RootCAs)
		}
	case tlsVerifyFull, "":
	default:
		return nil, &Error{
			Class: Invalid, Doing: doing, Why: "invalid tls.mode " + quoted(string(security.Mode)),
			Then: "Use disable, require, verify-ca or verify-full",
		}
	}
	return config, nil
}

// signedBy verifies that a certificate is signed by an authority, for any host.
func signedBy(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, certificate := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(certificate)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}

// keyPair returns the client certificate in a Secret.
func keyPair(ctx context.Context, doing string, secrets Secrets, name string) (*tls.Certificate, error) {
	public, err := key(ctx, doing, secrets, name, "tls.crt")
	if err != nil {
		return nil, err
	}
	private, err := key(ctx, doing, secrets, name, "tls.key")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(public, private)
	if err != nil {
		// Do not include the parser's error: it may quote the key.
		return nil, &Error{Class: Invalid, Doing: doing, Why: "tls.crt and tls.key of Secret " + name + " are not a certificate and its key"}
	}
	return &certificate, nil
}

// key returns one key of a Secret.
func key(ctx context.Context, doing string, secrets Secrets, name, key string) ([]byte, error) {
	data, err := secret(ctx, doing, secrets, name)
	if err != nil {
		return nil, err
	}
	value, has := data[key]
	if !has {
		return nil, &Error{Class: Invalid, Doing: doing, Why: fmt.Sprintf("Secret %s does not have a key %s", name, quoted(key))}
	}
	return value, nil
}

func secret(ctx context.Context, doing string, secrets Secrets, name string) (map[string][]byte, error) {
	data, err := secrets.Secret(ctx, name)
	if err != nil {
		return nil, notFound(ctx, doing, err, Invalid)
	}
	return data, nil
}

// notFound is the error for a missing object, or an unavailable API.
func notFound(ctx context.Context, doing string, err error, missing Class) *Error {
	class := Failed
	if apierrors.IsNotFound(err) {
		class = missing
	}
	return &Error{Class: class, Doing: doing, Why: said(err.Error()), cause: ctx.Err()}
}
