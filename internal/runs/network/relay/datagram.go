// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/yuba-dev/yuba/internal/runs/network"
)

// datagramIdle is how long a flow of datagrams lasts without one.
const datagramIdle = time.Minute

// maxDatagram is the largest one.
const maxDatagram = 64 << 10

// datagrams connects UDP datagrams of the program to their destination. It reports false to have the
// stack answer that nobody listens there.
func (r *relay) datagrams(ctx context.Context, request *udp.ForwarderRequest) bool {
	to := local(request.ID())
	if to.Addr() == resolver {
		return false // its port has an endpoint of its own
	}
	if r.refuses(network.UDP, to) {
		return false
	}
	if !take(r.connections) {
		r.report.overflow()
		return true // and drop it
	}
	var queue waiter.Queue
	endpoint, problem := request.CreateEndpoint(&queue)
	if problem != nil {
		<-r.connections
		return false
	}
	program := gonet.NewUDPConn(&queue, endpoint)
	go func() {
		defer func() { <-r.connections }()
		defer program.Close()
		dialer := net.Dialer{Timeout: dialPatience}
		out, err := dialer.DialContext(ctx, "udp", to.String())
		if err != nil {
			return
		}
		defer out.Close()
		passFlow(program, out, datagramIdle)
	}()
	return true
}

// passFlow copies datagrams in both directions until there is none for a while in either, or one end
// fails. Then both ends close.
func passFlow(program, out net.Conn, idle time.Duration) {
	end := func() {
		program.Close() //nolint:errcheck // nothing waits for it
		out.Close()     //nolint:errcheck // nothing waits for it
	}
	timer := time.AfterFunc(idle, end)
	defer timer.Stop()
	pass := func(to, from net.Conn) {
		defer end()
		piece := make([]byte, maxDatagram)
		for {
			n, err := from.Read(piece)
			if errors.Is(err, unix.ECONNREFUSED) { // nobody listened when an earlier one came
				continue
			}
			if err != nil {
				return
			}
			timer.Reset(idle)
			if _, err := to.Write(piece[:n]); err != nil && !errors.Is(err, unix.ECONNREFUSED) {
				return
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { pass(out, program) })
	both.Go(func() { pass(program, out) })
	both.Wait()
}
