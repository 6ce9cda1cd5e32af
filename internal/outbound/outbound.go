// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// ForbiddenError says that an address is not connected to.
type ForbiddenError struct{ Address string }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%s is not connected to: it may be the metadata service of the machine", e.Address)
}

// metadata are the addresses of metadata services that are not link-local: those of AWS for IPv6, Azure, Alibaba and
// Oracle.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"),
}

// translated are the addresses by which a network of IPv6 alone reaches those of IPv4, which are their last four bytes.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// Forbidden tells whether an address is not connected to.
func Forbidden(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if translated.Contains(address) {
		last := address.As16()
		address = netip.AddrFrom4([4]byte(last[12:]))
	}
	return address.IsLinkLocalUnicast() || address.IsMulticast() || slices.Contains(metadata, address)
}

// Dialer returns a dialer that connects only to what is allowed.
func Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		host, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", address, err)
		}
		if Forbidden(host.Addr()) {
			return &ForbiddenError{address}
		}
		return nil
	}}
}

// Options configure a client.
type Options struct {
	// Timeout is for a whole request, its answer included.
	Timeout time.Duration
	// Redirects is how many redirections are followed. Beyond that the redirection is the answer when there are none to
	// be followed, and else an error.
	Redirects int
	// Roots are trusted beside the system's; Certificate is shown to servers that ask for one. Both may be nil.
	Roots       *x509.CertPool
	Certificate *tls.Certificate
	// Proxy connects in the server's place; nil means the one that the server's environment names, if any.
	Proxy *url.URL
}

// RedirectError says why a redirection was not followed. It does not say where it leads to.
type RedirectError struct{ reason string }

func (e *RedirectError) Error() string { return e.reason }

// proxy is the one that the server's environment names.
func proxy(r *http.Request) (*url.URL, error) {
	return through(r, http.ProxyFromEnvironment)
}

// through finds the proxy for a request. The proxy looks names up itself, so that only addresses can be looked at here.
func through(r *http.Request, find func(*http.Request) (*url.URL, error)) (*url.URL, error) {
	if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil && Forbidden(address) {
		return nil, &ForbiddenError{r.URL.Host}
	}
	return find(r)
}

// Client returns a client for requests to one server. Its connections are not kept.
func Client(o Options) *http.Client {
	config := &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	if o.Certificate != nil {
		config.Certificates = []tls.Certificate{*o.Certificate}
	}
	way := proxy
	if o.Proxy != nil {
		way = func(r *http.Request) (*url.URL, error) { return through(r, http.ProxyURL(o.Proxy)) }
	}
	return &http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			Proxy:                  way,
			DialContext:            Dialer(o.Timeout).DialContext,
			TLSClientConfig:        config,
			TLSHandshakeTimeout:    o.Timeout,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			switch {
			case o.Redirects == 0:
				return http.ErrUseLastResponse
			case len(before) > o.Redirects:
				return &RedirectError{"it redirects too often"}
			case next.URL.Scheme != "http" && next.URL.Scheme != "https":
				return &RedirectError{"it redirects to something else than http:// or https://"}
			}
			return nil
		},
	}
}

// Show is a URL as it may be shown: without a password and without what the query says.
func Show(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(no URL)"
	}
	shown := u.Scheme + "://"
	if u.User != nil {
		shown += "(sensitive)@"
	}
	shown += u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		shown += "?(sensitive)"
	}
	return shown
}
