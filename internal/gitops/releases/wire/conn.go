// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"io"
	"net"
	"sync"
	"time"
)

// Conn makes a connection of two pipes.
func Conn(r io.ReadCloser, w io.WriteCloser) net.Conn { return &conn{r: r, w: w} }

type conn struct {
	r    io.ReadCloser
	w    io.WriteCloser
	once sync.Once
	err  error
}

func (c *conn) Read(p []byte) (int, error)  { return c.r.Read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.w.Write(p) }

func (c *conn) Close() error {
	c.once.Do(func() {
		c.err = c.w.Close()
		if err := c.r.Close(); c.err == nil {
			c.err = err
		}
	})
	return c.err
}

// Pipes have no addresses, and their deadlines are those of the requests.

func (*conn) LocalAddr() net.Addr              { return pipe{} }
func (*conn) RemoteAddr() net.Addr             { return pipe{} }
func (*conn) SetDeadline(time.Time) error      { return nil }
func (*conn) SetReadDeadline(time.Time) error  { return nil }
func (*conn) SetWriteDeadline(time.Time) error { return nil }

type pipe struct{}

func (pipe) Network() string { return "pipe" }
func (pipe) String() string  { return "pipe" }
