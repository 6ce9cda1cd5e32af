// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// shared are networks that net/netip does not count as private.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// Public reports whether an address is neither on this machine nor in a private network.
func Public(address netip.Addr) bool {
	address = Embedded(address)
	return !address.IsLoopback() && !address.IsPrivate() && !address.IsUnspecified() && !shared.Contains(address) && !Forbidden(address)
}

// Gate limits connections to public addresses and to hosts that an administrator named. It is safe for
// concurrent use.
type Gate struct {
	// Named are the hosts with ports, such as minio.example.com:9000, that may have private addresses:
	// only those, or a host could lead to whatever else listens in its network.
	Named []string
	// Connect limits the time for a connection.
	Connect time.Duration
	// Refused is the error for another host, without the port 443.
	Refused func(host string) error

	// proxies are the proxies of the server's environment, which may have private addresses.
	proxies sync.Map
}

// Limit has a transport connect through the gate.
func (g *Gate) Limit(t *http.Transport) {
	t.DialContext = g.dial
	t.Proxy = g.proxy(t.Proxy)
}

// dial checks the address in the moment of connecting: a name can resolve to another one any time.
func (g *Gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := Dialer(g.Connect)
	_, proxy := g.proxies.Load(address)
	if !proxy && !slices.Contains(g.Named, address) {
		forbidden := dialer.Control
		dialer.Control = func(network, to string, c syscall.RawConn) error {
			host, err := netip.ParseAddrPort(to)
			if err == nil && !Public(host.Addr()) && !Forbidden(host.Addr()) {
				return g.refuse(address)
			}
			return forbidden(network, to, c)
		}
	}
	return dialer.DialContext(ctx, network, address)
}

func (g *Gate) refuse(address string) error { return g.Refused(strings.TrimSuffix(address, ":443")) }

// proxy remembers the addresses of proxies. A proxy resolves names itself, so that only literal
// addresses can be checked here.
func (g *Gate) proxy(find func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		u, err := find(r)
		if u == nil || err != nil {
			return u, err
		}
		if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil && !Public(address) && !slices.Contains(g.Named, withPort(r.URL)) {
			return nil, g.refuse(r.URL.Host)
		}
		g.proxies.Store(withPort(u), true)
		return u, nil
	}
}

// withPort is the host of a URL with its port.
func withPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
