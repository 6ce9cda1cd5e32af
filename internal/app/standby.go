// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/telemetry"
)

// standby serves the endpoints of a replica that does not lead: it passes connections on to the
// leader without reading them. Replicas share their certificates, so clients notice nothing.
type standby struct {
	// leader is the host of the leader; empty if there is none.
	leader atomic.Value
	log    *slog.Logger
	limits listener.Limits

	listeners []net.Listener
	relays    sync.WaitGroup
}

// standBy listens on addresses until stop is called.
func standBy(limits listener.Limits, log *slog.Logger, addresses ...string) (_ *standby, err error) {
	s := &standby{log: log, limits: limits}
	s.leader.Store("")
	for _, address := range addresses {
		if address == "" {
			continue
		}
		inner, err := net.Listen("tcp", address)
		if err != nil {
			s.stop()
			return nil, err
		}
		l := listener.New(inner, limits)
		s.listeners = append(s.listeners, l)
		_, port, err := net.SplitHostPort(inner.Addr().String())
		if err != nil {
			s.stop()
			return nil, err
		}
		s.relays.Go(func() { s.accept(l, port) })
	}
	return s, nil
}

// stop ends listening. Connections that are being passed on end with the process or by themselves.
func (s *standby) stop() {
	for _, l := range s.listeners {
		l.Close() //nolint:errcheck // nothing is lost
	}
	s.relays.Wait()
}

func (s *standby) accept(l net.Listener, port string) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.log.Warn("accept a connection for the leader", "error", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go s.pass(conn, port)
	}
}

// dialPatience is how long the leader may take to accept a connection.
const dialPatience = 5 * time.Second

// pass connects a client with the leader. Without one, the client tries again.
func (s *standby) pass(client net.Conn, port string) {
	defer client.Close() //nolint:errcheck // the other side ended
	host, _ := s.leader.Load().(string)
	if host == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
	defer cancel()
	leader, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		s.log.Debug("connect to the leader", "error", err)
		return
	}
	defer leader.Close() //nolint:errcheck // the other side ended
	ended := make(chan struct{}, 2)
	copyTo := func(to, from net.Conn) {
		io.Copy(to, from) //nolint:errcheck // either side may end at any time
		ended <- struct{}{}
	}
	go copyTo(leader, client)
	go copyTo(client, leader)
	<-ended
}

// passedOn are the addresses at which clients reach any replica and mean the leader: those of the Services. Some may be empty.
func (opts *ControllerOptions) passedOn() []string {
	return []string{opts.ContentAddress, opts.HTTPAddress, opts.Registry.listens(), opts.CallHome.Address, opts.runnerAddress()}
}

// lead acquires the API's Lease. A replica passes connections on to the leader until then.
func (opts *ControllerOptions) lead(ctx context.Context, c client.Client, h *health, identity string) (held context.Context, release func(), err error) {
	if !opts.LeaderElect {
		return takeAPI(ctx, opts.Config, c, candidate{identity: identity, tenure: alone}, nil)
	}
	me := candidate{identity: identity, address: opts.AdvertiseAddress, tenure: replicated}
	s, err := standBy(opts.Connections.Share(50), opts.Log, opts.passedOn()...)
	if err != nil {
		return nil, nil, fmt.Errorf("listen as a replica: %w", err)
	}
	defer s.stop()
	stopMetrics, err := opts.serveMetrics(telemetry.Standby(opts.Version, ctrlmetrics.Registry, opts.Log), opts.AllowNonLoopback)
	if err != nil {
		return nil, nil, err
	}
	defer stopMetrics()
	defer h.takesOver() // before nothing listens
	last := ""
	return takeAPI(ctx, opts.Config, c, me, func(held *coordinationv1.Lease) {
		s.leader.Store(held.Annotations[annotationAddress])
		h.standsBy()
		if name := *held.Spec.HolderIdentity; name != last {
			opts.Log.Info("standing by: another replica leads", "leader", name)
			last = name
		}
	})
}
