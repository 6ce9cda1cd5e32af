// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/listener"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// DefaultQuota is far above the need: 100 000 stacks of 10 kB fill a quarter of it.
	DefaultQuota = 4 << 30
	// memberName and peerURL identify the only member. Nothing listens on the URL. etcd derives the
	// member's id from it, so it must be the same on every start and in a restored directory.
	memberName = "yuba"
	peerURL    = "http://localhost:2380"
	// defaultToken is used for stores of homes without an identity.
	defaultToken = "yuba"
	// tick and election are short: a single member waits for one election at every start and never
	// competes.
	tick     = 50 * time.Millisecond
	election = 5 * tick
	// slow is the time from which a request counts as slow on a laptop's disk.
	slow = 5 * time.Second
	// bufferSize of a client connection. The API server opens one for each resource that it stores.
	bufferSize = 8 << 10
	// maxConnections is twice what the API server uses. The rest is for connections that have not
	// shown a certificate before handshakeTime ends.
	maxConnections = 128
	handshakeTime  = 5 * time.Second
)

// Options configure the member.
type Options struct {
	// Dir is its data directory, and Facts what Check found there.
	Dir   string
	Facts Facts
	// Token distinguishes a new store from others.
	Token string
	// TLS is its configuration as a server. It must require client certificates.
	TLS *tls.Config
	// Quota is in bytes; DefaultQuota if zero.
	Quota int64
	// UpkeepEvery is how often the size is checked; ten seconds if zero.
	UpkeepEvery time.Duration
	// SnapshotEvery is the number of changes after which a new log begins; 5000 if zero.
	SnapshotEvery uint64
	// ProgressEvery is how often watchers of idle kinds get a progress notification; a minute if
	// zero. It is global to the process: the last start wins.
	ProgressEvery time.Duration
	Log           *slog.Logger
}

// Server is a running member.
type Server struct {
	options  Options
	member   *embed.Etcd
	listener net.Listener
	clients  *grpc.Server
	stop     context.CancelFunc
	done     sync.WaitGroup
	// trouble is why the store refuses changes; nil while it accepts them.
	trouble atomic.Pointer[string]
}

// Start starts the member and returns when it answers.
func Start(ctx context.Context, options Options) (*Server, error) {
	options.Quota = cmp.Or(options.Quota, DefaultQuota)
	options.UpkeepEvery = cmp.Or(options.UpkeepEvery, 10*time.Second)
	if options.TLS.ClientAuth != tls.RequireAndVerifyClientCert {
		return nil, fmt.Errorf("start etcd: its TLS configuration accepts clients without a certificate. This is a bug in Yuba")
	}
	if err := begin(options.Dir); err != nil {
		return nil, err
	}
	if err := unseal(options); err != nil {
		return nil, err
	}
	member, err := embed.StartEtcd(configuration(options))
	if err != nil {
		return nil, fmt.Errorf("start etcd in %s: %w", options.Dir, err)
	}
	select {
	case <-member.Server.ReadyNotify():
	case <-member.Server.StopNotify():
		member.Close()
		return nil, fmt.Errorf("start etcd in %s: it stopped at once", options.Dir)
	case <-ctx.Done():
		member.Close()
		return nil, fmt.Errorf("start etcd in %s: %w", options.Dir, ctx.Err())
	}
	// etcd commits in batches. Check takes a kept store whose database names no change for damaged.
	member.Server.Backend().ForceCommit()
	if err := begun(options.Dir); err != nil {
		member.Close()
		return nil, err
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		member.Close()
		return nil, fmt.Errorf("listen for etcd's clients: %w", err)
	}
	connections := listener.New(inner, listener.Limits{Total: maxConnections})
	s := &Server{options: options, member: member, listener: connections}
	s.clients = v3rpc.Server(member.Server, knowing(options.TLS, connections), nil, grpc.ConnectionTimeout(handshakeTime),
		grpc.ReadBufferSize(bufferSize), grpc.WriteBufferSize(bufferSize),
		// Only this process's API server may connect. By default etcd treats its pings, one every
		// 30 s, as abuse and closes the connections that its watches share.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Millisecond, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: embed.DefaultGRPCKeepAliveInterval, Timeout: embed.DefaultGRPCKeepAliveTimeout}))
	upkeep, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.done.Go(func() { s.serve() })
	s.done.Go(func() { s.keepUp(upkeep) })
	return s, nil
}

// knowing tells the listener which connections have shown a certificate.
func knowing(config *tls.Config, connections *listener.Listener) *tls.Config {
	outer := config.Clone()
	outer.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		remote := hello.Conn.RemoteAddr().String()
		inner := config.Clone()
		inner.NextProtos = []string{"h2"}
		inner.VerifyConnection = func(tls.ConnectionState) error {
			connections.Know(remote)
			return nil
		}
		return inner, nil
	}
	return outer
}

func configuration(options Options) *embed.Config {
	config := embed.NewConfig()
	config.Name = memberName
	config.Dir = options.Dir
	config.InitialCluster = memberName + "=" + peerURL
	config.InitialClusterToken = cmp.Or(options.Token, defaultToken)
	config.ListenPeerUrls, config.ListenClientUrls = nil, nil
	config.TickMs, config.ElectionMs = uint(tick.Milliseconds()), uint(election.Milliseconds())
	config.QuotaBackendBytes = options.Quota
	config.WarningApplyDuration, config.WarningUnaryRequestDuration = slow, slow
	// The API server compacts every five minutes, so etcd need not.
	config.AutoCompactionRetention = "0"
	// Keep few entries in memory: there are no followers.
	config.SnapshotCount, config.SnapshotCatchUpEntries = cmp.Or(options.SnapshotEvery, 5000), 100
	config.WatchProgressNotifyInterval = cmp.Or(options.ProgressEvery, time.Minute)
	config.MaxSnapFiles, config.MaxWalFiles = 2, 2
	config.MaxRequestBytes = 4 << 20
	config.EnableGRPCGateway = false
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapTo(options.Log))
	return config
}

func (s *Server) serve() {
	if err := s.clients.Serve(s.listener); err != nil {
		s.options.Log.Error("etcd stopped serving", "error", err)
	}
}

// Endpoint returns the URL for clients.
func (s *Server) Endpoint() string { return "https://" + s.listener.Addr().String() }

// Done is closed when the member has stopped for any reason.
func (s *Server) Done() <-chan struct{} { return s.member.Server.StopNotify() }

// Stop stops the member and seals its files: the next start accepts no other content. Clients
// should have disconnected before.
func (s *Server) Stop() {
	s.stop()
	s.clients.Stop()
	s.done.Wait()
	s.member.Close()
	if err := writeSeal(s.options.Dir); err != nil {
		s.options.Log.Warn("sealing the API's store failed; the next start checks all of it", "error", err)
	}
}

// Cluster returns the identity of the store, as in Facts.
func (s *Server) Cluster() string {
	return strconv.FormatUint(uint64(s.member.Server.Cluster().ID()), 16)
}
