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

// ForbiddenError means that connections to an address are refused.
type ForbiddenError struct{ Address string }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("connections to %s are refused: it may be the metadata service of the machine", e.Address)
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

// opaque are the IPv6 networks that lead to IPv4 addresses which cannot be derived with certainty,
// or that are obsolete.
var opaque = prefixes(
	"64:ff9b:1::/48", // NAT64 inside a network, with the address in one of four positions
	"2002::/16",      // 6to4
	"2001::/32",      // Teredo
	"fec0::/10",      // site-local, the predecessor of fc00::/7
)

// embedding are the IPv6 networks whose last four bytes are an IPv4 address: translation (NAT64,
// SIIT) and IPv4-compatible addresses.
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

// Embedded returns the IPv4 address that an IPv6 address leads to, and otherwise the address.
func Embedded(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	local := address.IsLoopback() || address.IsUnspecified() // ::1 and :: do not embed IPv4 addresses
	if in(embedding, address) && !local || isISATAP(address) {
		last := address.As16()
		return netip.AddrFrom4([4]byte(last[12:]))
	}
	return address
}

// Forbidden reports whether connections to an address are refused.
func Forbidden(address netip.Addr) bool {
	address = Embedded(address)
	return address.IsLinkLocalUnicast() || address.IsMulticast() || in(metadata, address) || in(opaque, address)
}

// isISATAP reports whether an IPv6 address of any network leads to an IPv4 address through an
// ISATAP tunnel.
func isISATAP(address netip.Addr) bool {
	b := address.As16()
	return address.Is6() && b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// Dialer returns a dialer that refuses forbidden addresses.
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
	// Timeout limits a whole request with its response. Connect limits the connection and the
	// beginning of the response; 0 means Timeout.
	Timeout, Connect time.Duration
	// Redirects is the maximum number of redirects to follow. With 0 a redirect is the response;
	// otherwise a further one is an error.
	Redirects int
	// Roots are trusted in addition to the system's; Certificate is the client certificate. Both
	// may be nil.
	Roots       *x509.CertPool
	Certificate *tls.Certificate
	// Proxy is the proxy to use; nil means the one in the server's environment, if any.
	Proxy *url.URL
}

// RedirectError says why a redirect was not followed, without its target.
type RedirectError struct{ reason string }

func (e *RedirectError) Error() string { return e.reason }

// proxy returns the proxy in the server's environment.
func proxy(r *http.Request) (*url.URL, error) {
	return through(r, http.ProxyFromEnvironment)
}

// through returns the proxy for a request. The proxy resolves names itself, so only literal
// addresses can be checked here.
func through(r *http.Request, find func(*http.Request) (*url.URL, error)) (*url.URL, error) {
	if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil && Forbidden(address) {
		return nil, &ForbiddenError{r.URL.Host}
	}
	return find(r)
}

// Client returns a client for requests to one server. It does not keep connections.
func Client(o Options) *http.Client {
	return &http.Client{Timeout: o.Timeout, Transport: Transport(o), CheckRedirect: Follow(o.Redirects)}
}

// Transport returns the transport of such a client.
func Transport(o Options) *http.Transport {
	config := &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	if o.Certificate != nil {
		config.Certificates = []tls.Certificate{*o.Certificate}
	}
	way := proxy
	if o.Proxy != nil {
		way = func(r *http.Request) (*url.URL, error) { return through(r, http.ProxyURL(o.Proxy)) }
	}
	connect := cmp.Or(o.Connect, o.Timeout)
	return &http.Transport{
		Proxy:                  way,
		DialContext:            Dialer(connect).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    connect,
		ResponseHeaderTimeout:  connect,
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Follow returns the CheckRedirect function of a client that follows this many redirects. It never
// leaves https: others could read and change what was requested over TLS.
func Follow(most int) func(next *http.Request, before []*http.Request) error {
	return func(next *http.Request, before []*http.Request) error {
		switch scheme := next.URL.Scheme; {
		case most == 0:
			return http.ErrUseLastResponse
		case len(before) > most:
			return &RedirectError{"it redirects too often"}
		case scheme != "http" && scheme != "https":
			return &RedirectError{"it redirects to a URL that is neither http:// nor https://"}
		case scheme == "http" && before[len(before)-1].URL.Scheme == "https":
			return &RedirectError{"it redirects from https:// to http://"}
		}
		return nil
	}
}

// Show returns a URL that is safe to show: without password and query.
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
