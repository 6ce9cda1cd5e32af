// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// connectTimeout limits connecting; contexts limit whole requests.
const connectTimeout = 30 * time.Second

// Access describes how to reach an upstream, and as whom.
type Access struct {
	// CA contains certificates in PEM that are trusted in addition to the system's.
	CA []byte
	// Certificate and Key, in PEM, are the client certificate.
	Certificate, Key []byte
	// Proxy is the proxy to use; nil means the one in the server's environment, if any.
	Proxy *url.URL
	// SkipVerify accepts any certificate of the upstream.
	SkipVerify bool
	// Credentials are further credentials. Only the identity uses them.
	Credentials [][]byte
}

// salt makes identities useless outside this process: a plain digest would allow guessing passwords.
var salt = []byte(rand.Text())

// Identity is equal for equal accesses with equal parts, and only for those.
func (a Access) Identity(parts ...string) string {
	mac := hmac.New(sha256.New, salt)
	add := func(part []byte) {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	for _, part := range [][]byte{a.CA, a.Certificate, a.Key} {
		add(part)
	}
	add(fmt.Append(nil, a.Proxy, a.SkipVerify, len(a.Credentials)))
	for _, part := range a.Credentials {
		add(part)
	}
	for _, part := range parts {
		add([]byte(part))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Transport returns a transport that uses the access. Its idle connections time out.
func (a Access) Transport() (*http.Transport, error) {
	options := outbound.Options{Connect: connectTimeout, Proxy: a.Proxy}
	if len(a.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
		if !pool.AppendCertsFromPEM(a.CA) {
			return nil, errors.New("ca.crt does not contain a certificate in PEM")
		}
		options.Roots = pool
	}
	if len(a.Certificate) > 0 || len(a.Key) > 0 {
		pair, err := tls.X509KeyPair(a.Certificate, a.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.crt and tls.key are not a certificate with its key: %w", err)
		}
		options.Certificate = &pair
	}
	t := outbound.Transport(options)
	t.TLSClientConfig.InsecureSkipVerify = a.SkipVerify
	// Contexts limit the time until a response.
	t.ResponseHeaderTimeout = 0
	t.DisableKeepAlives, t.MaxIdleConnsPerHost, t.IdleConnTimeout = false, 32, 15*time.Second
	return t, nil
}
