// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Limits are the maximum numbers of open connections: in total, and from one address. An IPv6 /64
// network counts as one address.
type Limits struct{ Total, PerAddress int }

// Listener is a listener with limits.
type Listener struct {
	net.Listener
	limits Limits
	// grace is the minimum time for showing credentials.
	grace time.Duration

	mu    sync.Mutex
	open  map[string]*conn // by remote address
	count map[netip.Prefix]int
}

const grace = 500 * time.Millisecond

// New limits the connections of another listener.
func New(inner net.Listener, limits Limits) *Listener {
	return &Listener{Listener: inner, limits: limits, grace: grace, open: map[string]*conn{}, count: map[netip.Prefix]int{}}
}

type conn struct {
	net.Conn
	listener *Listener
	key      string
	group    netip.Prefix
	known    atomic.Bool
	evicted  atomic.Bool
	began    int64        // in Unix nanoseconds
	heard    atomic.Int64 // when data last arrived
	closed   sync.Once
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
				// Another part of the process has used up the files. The server retries in a
				// moment.
				l.makeRoom()
			}
			return nil, err
		}
		c := &conn{Conn: inner, listener: l, key: inner.RemoteAddr().String(), group: groupOf(inner.RemoteAddr())}
		c.began = time.Now().UnixNano()
		c.heard.Store(c.began)
		if l.admit(c) {
			return c, nil
		}
		c.drop()
	}
}

// admit adds a connection, perhaps in place of another one, and reports whether that succeeded. It
// may wait: a flood must leave others time to show credentials.
func (l *Listener) admit(c *conn) bool {
	for {
		evicted, ok := l.place(c)
		switch {
		case !ok:
			return false
		case evicted == nil:
			return true
		}
		if wait := time.Until(time.Unix(0, evicted.began).Add(l.grace)); wait > 0 {
			time.Sleep(min(wait, l.grace/10))
			continue
		}
		l.mu.Lock()
		l.forget(evicted)
		l.mu.Unlock()
		evicted.drop()
	}
}

// place gives a connection a place. Without a free one it returns the connection to evict; ok is
// false if there is none.
func (l *Listener) place(c *conn) (evicted *conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.count[c.group] >= l.perAddress(c.group):
		evicted = l.stalest(c.group)
	case len(l.open) >= l.limits.Total:
		evicted = l.stalest(l.largest())
		if evicted == nil {
			evicted = l.stalest(netip.Prefix{})
		}
	default:
		l.add(c)
		return nil, true
	}
	return evicted, evicted != nil
}

// perAddress returns the limit of an address. This machine may use all places: most clients run
// here.
func (l *Listener) perAddress(group netip.Prefix) int {
	if group == thisMachine {
		return l.limits.Total
	}
	return l.limits.PerAddress
}

func (l *Listener) add(c *conn) {
	l.open[c.key] = c
	l.count[c.group]++
}

func (l *Listener) forget(c *conn) {
	if l.open[c.key] != c {
		return
	}
	delete(l.open, c.key)
	if l.count[c.group]--; l.count[c.group] == 0 {
		delete(l.count, c.group)
	}
}

// stalest returns the unknown connection of a group, or of all groups, that was silent for longest;
// nil if all are known.
func (l *Listener) stalest(group netip.Prefix) *conn {
	var found *conn
	for _, c := range l.open {
		if c.known.Load() || group.IsValid() && c.group != group {
			continue
		}
		if found == nil || c.heard.Load() < found.heard.Load() {
			found = c
		}
	}
	return found
}

// largest returns the group with the most connections.
func (l *Listener) largest() netip.Prefix {
	var group netip.Prefix
	most := 0
	for one, count := range l.count {
		if count > most {
			group, most = one, count
		}
	}
	return group
}

// makeRoom closes half of the unknown connections, those that were silent for longest.
func (l *Listener) makeRoom() {
	l.mu.Lock()
	unknown := slices.DeleteFunc(slices.Collect(maps.Values(l.open)), func(c *conn) bool { return c.known.Load() })
	slices.SortFunc(unknown, func(a, b *conn) int { return cmp.Compare(a.heard.Load(), b.heard.Load()) })
	dropped := unknown[:(len(unknown)+1)/2]
	for _, c := range dropped {
		l.forget(c)
	}
	l.mu.Unlock()
	for _, c := range dropped {
		c.drop()
	}
}

// Know marks the connection from an address, as in http.Request.RemoteAddr, as known.
func (l *Listener) Know(remoteAddress string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.open[remoteAddress]; c != nil {
		c.known.Store(true)
	}
}

// HangUp closes all connections.
func (l *Listener) HangUp() {
	l.mu.Lock()
	open := l.open
	l.open, l.count = map[string]*conn{}, map[netip.Prefix]int{}
	l.mu.Unlock()
	for _, c := range open {
		c.drop()
	}
}

// drop closes a connection; nil does nothing. To its server it looks as if the client has closed
// it, so nothing is logged.
func (c *conn) drop() {
	if c != nil {
		c.evicted.Store(true)
		_ = c.Close() // it may be closed already
	}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	switch {
	case n > 0:
		c.heard.Store(time.Now().UnixNano())
	case err != nil && c.evicted.Load():
		return 0, io.EOF
	}
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closed.Do(func() {
		c.listener.mu.Lock()
		c.listener.forget(c)
		c.listener.mu.Unlock()
		err = c.Conn.Close()
	})
	return err
}

// thisMachine represents all loopback addresses: local clients can choose any of them.
var thisMachine = netip.MustParsePrefix("127.0.0.0/8")

func groupOf(remote net.Addr) netip.Prefix {
	address, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return thisMachine // a Unix socket
	}
	ip, bits := address.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	if ip.IsLoopback() {
		return thisMachine
	}
	group, err := ip.Prefix(bits)
	if err != nil {
		return thisMachine
	}
	return group
}
