// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// meter bounds what comes over the connections of one source. Drivers take what a server sends, however much: rows that a
// statement limits, and lengths that a server only claims.
type meter struct {
	left atomic.Int64
	// came is how much has come over the last connection, which is conn.
	came atomic.Int64
	conn atomic.Pointer[net.TCPConn]
}

// framing is room for what comes around the values of a reading: a few bytes for each, and the greetings.
const framing = 16 << 20

// allow begins a reading.
func (m *meter) allow(limits Limits) { m.left.Store(2*limits.Bytes + framing) }

func (m *meter) spent() bool { return m.left.Load() < 0 }

// longestLasting is how much comes over one connection before it is replaced.
const longestLasting = 64 << 20

// worn tells whether the connection is to be another one at the next reading: drivers keep some of what a server says, such
// as the settings that it reports, for as long as a connection lasts.
func (m *meter) worn() bool { return m.came.Load() > longestLasting }

// hangUpAfter closes the last connection when a context ends: not all that drivers do on it ends with one. Once the function that it
// returns is over, nothing is closed any more; the next reading's connection may be another one.
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

// dial connects to what the server may connect to on behalf of others.
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

var errSpent = errors.New("more came than a reading may have")

// metered is a connection that is counted. It stays a TCP connection for drivers, which look whether it is still alive.
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
