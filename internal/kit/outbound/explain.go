// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// Explain describes why a connection failed, in our own words. Errors of network packages quote
// responses and redirects, and would show a stack's author what only the server can reach.
func Explain(err error) string {
	var (
		timeout   net.Error
		name      *net.DNSError
		forbidden *ForbiddenError
		redirect  *RedirectError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		notTLS    tls.RecordHeaderError
		alert     tls.AlertError
	)
	switch {
	case errors.As(err, &forbidden):
		return "connections to such addresses are refused: they may be the metadata service of the machine"
	case errors.As(err, &redirect):
		return redirect.Error()
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no response in time"
	case errors.As(err, &name):
		return "the name of the host does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed without a response"
	case errors.As(err, &authority):
		return "its certificate is signed by an untrusted authority"
	case errors.As(err, &host):
		return "its certificate is for another name"
	case errors.As(err, &invalid):
		return "its certificate is expired or not yet valid"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it serves http, not https"
	case errors.As(err, &notTLS):
		return "it does not serve TLS"
	case errors.As(err, &alert):
		return "it ended the TLS handshake, perhaps because it requires a client certificate"
	}
	return "the connection failed, or the response was invalid"
}
