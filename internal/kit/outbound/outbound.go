// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"cmp"
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

// metadata are the metadata services that are not link-local.
var metadata = prefixes(
	"168.63.129.16/32",       // Azure
	"100.100.100.200/32",     // Alibaba
	"192.0.0.192/32",         // Oracle, classic
	"fd00:ec2::/32",          // AWS: instances, pod identity (::23), name servers, clock
	"fd20:ce::254/128",       // Google
	"fd00:c1::a9fe:a9fe/128", // Oracle
	"fd00:42::42/128",        // Scaleway
	"fd00:100::100:200/128",  // Alibaba
	"fd00:a9fe:a9fe::1/128",  // Linode
)

// opaque are the IPv6 networks that lead to IPv4 addresses which cannot be read from them for certain, or that nobody uses
// any more for anything else.
var opaque = prefixes(
	"64:ff9b:1::/48", // translation inside a network, where the address may stand in four places
	"2002::/16",      // 6to4
	"2001::/32",      // Teredo
	"fec0::/10",      // site-local, the predecessor of fc00::/7
)

// embedding are the IPv6 networks whose last four bytes are an IPv4 address: translation (NAT64, SIIT) and the addresses
// that are compatible with IPv4.
var embedding = prefixes("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")

func prefixes(list ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(list))
	for i, text := range list {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

func in(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

// Forbidden tells whether an address is not connected to.
func Forbidden(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	local := address.IsLoopback() || address.IsUnspecified() // ::1 and :: are no IPv4 addresses
	if in(embedding, address) && !local || isISATAP(address) {
		last := address.As16()
		address = netip.AddrFrom4([4]byte(last[12:]))
	}
	return address.IsLinkLocalUnicast() || address.IsMulticast() || in(metadata, address) || in(opaque, address)
}

// isISATAP tells whether an address of any network names one of IPv4 that a tunnel leads to.
func isISATAP(address netip.Addr) bool {
	b := address.As16()
	return address.Is6() && b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
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
	// Timeout is for a whole request, its answer included. Connect is for the connection and for the beginning of an answer;
	// 0 means Timeout.
	Timeout, Connect time.Duration
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
	connect := cmp.Or(o.Connect, o.Timeout)
	return &http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			Proxy:                  way,
			DialContext:            Dialer(connect).DialContext,
			TLSClientConfig:        config,
			TLSHandshakeTimeout:    connect,
			ResponseHeaderTimeout:  connect,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: Follow(o.Redirects),
	}
}

// Follow is the CheckRedirect of a client that follows so many redirections. It does not leave https: whoever listens would
// read, and could change, what was asked for over TLS.
func Follow(most int) func(next *http.Request, before []*http.Request) error {
	return func(next *http.Request, before []*http.Request) error {
		switch scheme := next.URL.Scheme; {
		case most == 0:
			return http.ErrUseLastResponse
		case len(before) > most:
			return &RedirectError{"it redirects too often"}
		case scheme != "http" && scheme != "https":
			return &RedirectError{"it redirects to something else than http:// or https://"}
		case scheme == "http" && before[len(before)-1].URL.Scheme == "https":
			return &RedirectError{"it redirects from https:// to http://"}
		}
		return nil
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
