// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// meter limits what a source's connections receive. Drivers accept anything that a server sends:
// rows beyond a statement's limit, and claimed lengths.
type meter struct {
	left atomic.Int64
	// came is the number of bytes from the last connection, which is conn.
	came atomic.Int64
	conn atomic.Pointer[net.TCPConn]
}

// framing is room for protocol overhead of a reading.
const framing = 16 << 20

// allow begins a reading.
func (m *meter) allow(limits Limits) { m.left.Store(2*limits.Bytes + framing) }

func (m *meter) spent() bool { return m.left.Load() < 0 }

// longestLasting is how much one connection receives before it is replaced.
const longestLasting = 64 << 20

// worn reports whether to replace the connection before the next reading: drivers keep some server
// messages, such as reported settings, for the life of a connection.
func (m *meter) worn() bool { return m.came.Load() > longestLasting }

// hangUpAfter closes the last connection when a context ends, because not all operations of drivers
// do. After stop returns, it closes nothing more; the next reading may have another connection.
func (m *meter) hangUpAfter(ctx context.Context) (stop func()) {
	closed := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(closed)
		if conn := m.conn.Load(); conn != nil {
			conn.Close() //nolint:errcheck // it may be closed already
		}
	})
	return func() {
		if !forget() {
			<-closed
		}
	}
}

// dial connects only to allowed addresses.
func (m *meter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := outbound.Dialer(connectTimeout).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp, is := conn.(*net.TCPConn)
	if !is {
		conn.Close() //nolint:errcheck // nothing was sent
		return nil, fmt.Errorf("connect to %s over %s: only TCP is metered. This is a bug in Yuba", address, network)
	}
	m.came.Store(0)
	m.conn.Store(tcp)
	return &metered{TCPConn: tcp, meter: m}, nil
}

var errSpent = errors.New("the server sent more than a reading may have")

// metered is a connection that is counted. It stays a TCP connection for drivers, which check
// whether it is alive.
type metered struct {
	*net.TCPConn
	meter *meter
}

func (c *metered) Read(p []byte) (int, error) {
	if c.meter.spent() {
		return 0, errSpent
	}
	n, err := c.TCPConn.Read(p)
	c.meter.came.Add(int64(n))
	if c.meter.left.Add(-int64(n)); c.meter.spent() {
		return n, errSpent
	}
	return n, err
}
