// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// certificates returns a host's authorities and client certificate, nil for the system's and none.
// They are read each time: files of certificates are renewed in place.
func (c *Client) certificates(host string) (*x509.CertPool, *tls.Certificate, error) {
	if c.Certs == "" || host != filepath.Base(host) || host[0] == '.' {
		return nil, nil, nil
	}
	dir := filepath.Join(c.Certs, host)
	var roots *x509.CertPool
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	switch {
	case err == nil:
		if roots, err = x509.SystemCertPool(); err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(authority) {
			return nil, nil, fmt.Errorf("read the authority of %s: there is no certificate in its ca.crt", host)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("read the authority of %s: %w", host, err)
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	switch {
	case err == nil:
		return roots, &certificate, nil
	case errors.Is(err, fs.ErrNotExist):
		return roots, nil, nil
	}
	return nil, nil, fmt.Errorf("read the client certificate for %s: %w", host, err)
}
