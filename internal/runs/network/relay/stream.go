// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/yuba-dev/yuba/internal/runs/network"
)

// dialPatience is how long a destination may take to accept a connection.
const dialPatience = time.Minute

// stream connects a TCP connection of the program to its destination.
func (r *relay) stream(ctx context.Context, request *tcp.ForwarderRequest) {
	to := local(request.ID())
	if to.Addr() == resolver && to.Port() == resolverPort {
		r.queryStream(ctx, request)
		return
	}
	if to.Addr() == resolver || r.refuses(network.TCP, to) { // the resolver has no other port
		request.Complete(true)
		return
	}
	if !take(r.connections) {
		r.report.overflow()
		request.Complete(true)
		return
	}
	defer func() { <-r.connections }()
	out, err := dial(ctx, to)
	if err != nil {
		request.Complete(true)
		return
	}
	defer out.Close()
	var queue waiter.Queue
	endpoint, problem := request.CreateEndpoint(&queue)
	request.Complete(problem != nil)
	if problem != nil {
		return
	}
	r.connect(gonet.NewTCPConn(&queue, endpoint), out, endpoint.Abort)
}

func dial(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: dialPatience}
	conn, err := dialer.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	stream, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(errors.New("not a TCP connection"), conn.Close())
	}
	return stream, nil
}

// half is a connection whose directions close one by one.
type half interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// connect copies in both directions until both have ended. A reset of one side resets the other.
func (r *relay) connect(program half, out *net.TCPConn, abort func()) {
	r.sending.Add(1)
	var both sync.WaitGroup
	both.Go(func() {
		if !pass(program, out) {
			abort()
		}
	})
	both.Go(func() {
		defer r.sending.Add(-1)
		if !pass(out, program) {
			_ = out.SetLinger(0) // the close below then is a reset
			out.Close()          //nolint:errcheck // nothing waits for it
			abort()
		}
	})
	both.Wait()
	program.Close() //nolint:errcheck // both directions have ended
}

// pieces are buffers for copying, larger than those of package io.
var pieces = sync.Pool{New: func() any { p := make([]byte, 64<<10); return &p }}

// pass copies to the end of a direction, and closes it. It reports whether the end was orderly.
func pass(to, from half) bool {
	piece, _ := pieces.Get().(*[]byte)
	defer pieces.Put(piece)
	// The wrappers hide methods that would copy with buffers of their own.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *piece)
	return err == nil && to.CloseWrite() == nil
}

// forward connects what the program sends to a port of its loopback interface to that of the machine.
func (r *relay) forward(ctx context.Context, l net.Listener, to netip.AddrPort) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		program, ok := conn.(*net.TCPConn)
		if !ok || !take(r.connections) {
			r.report.overflow()
			conn.Close() //nolint:errcheck // it was not used
			continue
		}
		go func() {
			defer func() { <-r.connections }()
			defer program.Close()
			reset := func() {
				_ = program.SetLinger(0)
				program.Close() //nolint:errcheck // nothing waits for it
			}
			out, err := dial(ctx, to)
			if err != nil {
				reset()
				return
			}
			defer out.Close()
			r.connect(program, out, reset)
		}()
	}
}
