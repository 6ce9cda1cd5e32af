// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

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

// access is what a database is entered with.
type access struct {
	password string
	// tls is nil for none; plain says that none will do when the server has none.
	tls   *tls.Config
	plain bool
}

// anybody tells whether the server may be anybody at all, so that it must not be told the password itself.
func (a *access) anybody() bool { return a.plain || a.tls == nil }

// hide takes the password out of what a server says, in all encodings that logs are searched for: a server that was told the
// password may say it back.
func (a *access) hide(text string) string {
	secrets := mask.New()
	secrets.Add(a.password)
	text = secrets.Masker(mask.Mark).Text(text)
	// Masks take a short number for a port or a count. Here it is known to be a password.
	if len(a.password) >= shortestNumber && strings.Trim(a.password, "0123456789") == "" {
		text = strings.ReplaceAll(text, a.password, mask.Mark)
	}
	return text
}

// shortestNumber is how many digits a password must have to be hidden wherever they stand.
const shortestNumber = 4

func newAccess(ctx context.Context, doing, host string, password *tenantv1.SecretRef, security *tenantv1.TLS, secrets Secrets) (*access, error) {
	if !nameable(host) {
		return nil, &Error{
			Class: Invalid, Doing: doing, Why: "the host " + quoted(host) + " is no name or address of one",
			Then: "The port has a field of its own, and sockets on the server's disk are not connected to",
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

// nameable tells whether a host can be one. Drivers take a path for a socket and commas for a list; only addresses of IPv6 have
// colons.
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
			return nil, &Error{Class: Invalid, Doing: doing, Why: "tls.mode is disable, and tls names certificates", Then: "One of the two has to go"}
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
			return nil, &Error{Class: Invalid, Doing: doing, Why: fmt.Sprintf("there is no certificate in key %s of Secret %s", quoted(ref.Key), ref.Name)}
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
		// Go checks both the chain and the host, or neither. Who names an authority wants to have it asked, as others do it, too.
		config.InsecureSkipVerify = true
		if security.Mode == tlsVerifyCA || config.RootCAs != nil {
			config.VerifyConnection = signedBy(config.RootCAs)
		}
	case tlsVerifyFull, "":
	default:
		return nil, &Error{
			Class: Invalid, Doing: doing, Why: "there is no tls.mode " + quoted(string(security.Mode)),
			Then: "There are disable, require, verify-ca and verify-full",
		}
	}
	return config, nil
}

// signedBy verifies that a certificate comes from an authority, whatever host it names.
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

// keyPair is the certificate that a Secret holds, to be shown to a server.
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
		// What is wrong with a key is not told in the words of who read it.
		return nil, &Error{Class: Invalid, Doing: doing, Why: "tls.crt and tls.key of Secret " + name + " are no certificate and its key"}
	}
	return &certificate, nil
}

// key is one key of a Secret.
func key(ctx context.Context, doing string, secrets Secrets, name, key string) ([]byte, error) {
	data, err := secret(ctx, doing, secrets, name)
	if err != nil {
		return nil, err
	}
	value, has := data[key]
	if !has {
		return nil, &Error{Class: Invalid, Doing: doing, Why: fmt.Sprintf("Secret %s has no key %s", name, quoted(key))}
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

// notFound is the error of an object that is missing, or of an API that does not tell.
func notFound(ctx context.Context, doing string, err error, missing Class) *Error {
	class := Failed
	if apierrors.IsNotFound(err) {
		class = missing
	}
	return &Error{Class: class, Doing: doing, Why: said(err.Error()), cause: ctx.Err()}
}
