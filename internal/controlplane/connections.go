// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"net"
	"sync"
)

// tracked is a listener that knows its open connections. The API server waits for watches and followed logs to end by
// themselves, which they never do; closing their connections ends them.
type tracked struct {
	*net.TCPListener
	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

func track(listener *net.TCPListener) *tracked {
	return &tracked{TCPListener: listener, open: map[*trackedConn]struct{}{}}
}

// Accept implements net.Listener.
func (l *tracked) Accept() (net.Conn, error) {
	inner, err := l.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &trackedConn{Conn: inner, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[conn] = struct{}{}
	return conn, nil
}

// hangUp closes all connections.
func (l *tracked) hangUp() {
	l.mu.Lock()
	open := l.open
	l.open = map[*trackedConn]struct{}{}
	l.mu.Unlock()
	for conn := range open {
		// What remains is thrown away; there is nobody to tell that it could not be closed.
		_ = conn.Conn.Close()
	}
}

type trackedConn struct {
	net.Conn
	listener *tracked
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
