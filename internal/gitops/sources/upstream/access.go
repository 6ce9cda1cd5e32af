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
	"net/netip"
	"net/url"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// connectTimeout bounds what comes before a request is sent; the whole of it is bounded by its
// context.
const connectTimeout = 15 * time.Second

// Access is how and as whom an upstream is asked.
type Access struct {
	// CA holds certificates, in PEM, that are trusted beside the system's.
	CA []byte
	// Certificate and Key, in PEM, are shown to upstreams that ask for a certificate.
	Certificate, Key []byte
	// Proxy stands between; without one the server's environment says whether there is one.
	Proxy *url.URL
	// SkipVerify accepts any certificate of the upstream.
	SkipVerify bool
	// Credentials are whatever else tells the upstream who asks. Only the identity uses them.
	Credentials [][]byte
}

// salt makes identities worthless outside of this process: some passwords can be guessed from a
// plain digest.
var salt = []byte(rand.Text())

// Identity tells accesses, and whatever else is given, apart.
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

// Transport makes connections with the access. Who is done with it lets its idle connections time
// out.
func (a Access) Transport() (*http.Transport, error) {
	// Registries and buckets of private networks have certificates of any kind, or none: skipping
	// is asked for by name.
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.SkipVerify} //nolint:gosec // see above
	if len(a.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
		if !pool.AppendCertsFromPEM(a.CA) {
			return nil, errors.New("ca.crt has no certificate in PEM")
		}
		config.RootCAs = pool
	}
	if len(a.Certificate) > 0 || len(a.Key) > 0 {
		pair, err := tls.X509KeyPair(a.Certificate, a.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.crt and tls.key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Transport{
		Proxy:                  a.proxy,
		DialContext:            outbound.Dialer(connectTimeout).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        15 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}, nil
}

// proxy says what a request goes through. A proxy looks names up itself, so that only addresses can
// be looked at here.
func (a Access) proxy(r *http.Request) (*url.URL, error) {
	if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil && outbound.Forbidden(address) {
		return nil, &outbound.ForbiddenError{Address: r.URL.Host}
	}
	if a.Proxy != nil {
		return a.Proxy, nil
	}
	return http.ProxyFromEnvironment(r)
}
