// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

const (
	// connectPatience limits connecting and the beginning of an answer: tofu waits 10 s for metadata.
	connectPatience = 8 * time.Second
	// redirects is the number of redirects to follow; releases on GitHub use one or two.
	redirects = 5
)

// privateError means that a host that no administrator named, with this port, has an address in this
// network.
type privateError struct{ host string }

// Is makes the error one of [offer.ErrRefused].
func (e *privateError) Is(target error) bool { return target == offer.ErrRefused }

func (e *privateError) Error() string {
	return fmt.Sprintf("%s has an address on this machine or in a private network. If it is meant to be mirrored, or to serve files of a mirrored registry, allow it by its exact name and port: %s/*/*", e.host, e.host)
}

// shared are networks that net/netip does not count as private.
var shared = netip.MustParsePrefix("100.64.0.0/10")

func public(address netip.Addr) bool {
	address = outbound.Embedded(address)
	return !address.IsLoopback() && !address.IsPrivate() && !address.IsUnspecified() && !shared.Contains(address) && !outbound.Forbidden(address)
}

// gate connects to origins and to the hosts that they name, in service discovery, in answers and in
// redirects.
type gate struct {
	// named are the hosts with ports that may have private addresses: only what an administrator named,
	// or an origin could lead the mirror to whatever else listens on those machines.
	named []string
	// proxies are the proxies of the server's environment, which may have private addresses.
	proxies sync.Map
}

// dial checks the address in the moment of connecting: a name can resolve to another one any time.
func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := outbound.Dialer(connectPatience)
	_, proxy := g.proxies.Load(address)
	if !proxy && !slices.Contains(g.named, address) {
		forbidden := dialer.Control
		dialer.Control = func(network, to string, c syscall.RawConn) error {
			host, err := netip.ParseAddrPort(to)
			if err == nil && !public(host.Addr()) && !outbound.Forbidden(host.Addr()) {
				return &privateError{strings.TrimSuffix(address, ":443")}
			}
			return forbidden(network, to, c)
		}
	}
	return dialer.DialContext(ctx, network, address)
}

// proxy remembers the addresses of proxies. A proxy resolves names itself, so that only literal
// addresses can be checked here.
func (g *gate) proxy(find func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		u, err := find(r)
		if u == nil || err != nil {
			return u, err
		}
		if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil && !public(address) && !slices.Contains(g.named, withPort(r.URL.Host)) {
			return nil, &privateError{strings.TrimSuffix(r.URL.Host, ":443")}
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
		}
		if port == "" {
			port = "80"
		}
		g.proxies.Store(net.JoinHostPort(u.Hostname(), port), true)
		return u, nil
	}
}

// errNotTLS means that a redirect leaves TLS.
var errNotTLS = errors.New("it redirects to a URL that is not https://")

// client returns a client for metadata and downloads, which have deadlines of their own.
func (o Options) client(named []string) *http.Client {
	g := &gate{named: named}
	t := outbound.Transport(outbound.Options{Connect: connectPatience, Roots: o.Roots})
	t.DialContext = g.dial
	t.Proxy = g.proxy(t.Proxy)
	// Metadata of a dozen providers come from the same host.
	t.DisableKeepAlives, t.MaxIdleConnsPerHost, t.IdleConnTimeout = false, 8, 30*time.Second
	follow := outbound.Follow(redirects)
	return &http.Client{Transport: t, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if next.URL.Scheme != "https" {
			return errNotTLS
		}
		return follow(next, before)
	}}
}

// explain describes a network error in our own words, see [outbound.Explain].
func explain(err error) error {
	var private *privateError
	if errors.As(err, &private) {
		return private
	}
	if errors.Is(err, errNotTLS) {
		return errNotTLS
	}
	return errors.New(outbound.Explain(err))
}
