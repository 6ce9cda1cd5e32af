// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/yuba-dev/yuba/internal/runs/network"
)

// The addresses of the tunnel. yuba-sandbox sets the program's, and names the resolver. They are from
// a range for tests of networks, which no machine of the network has.
var resolver = netip.AddrFrom4([4]byte{198, 18, 0, 1})

const (
	resolverPort = 53
	// mtu is also the sandbox's: large packets cost less.
	mtu = 65520
	nic = 1
)

// Bounds of one program. Providers use a few dozen connections.
const (
	maxConnections = 512
	maxConnecting  = 128
	maxQueries     = 64
	// buffer is that of each direction of a connection. It holds some of the large packets.
	buffer = 256 << 10
)

// Options configure a relay.
type Options struct {
	// Control is the socket at whose other end the sandbox is.
	Control *os.File
	List    network.List
	// Report gets a line for each refusal.
	Report io.Writer
	// Lookup resolves names; nil means the machine's resolver. The network is "ip".
	Lookup func(ctx context.Context, network, name string) ([]netip.Addr, error)
}

// relay serves one program.
type relay struct {
	list   network.List
	report *reporter
	names  *names
	own    *ownAddresses
	// connections and queries have a token for each one in progress.
	connections, queries chan struct{}
	// sending counts the connections on which the program may still send.
	sending atomic.Int32
}

// Run takes over the tunnel from the sandbox, and serves it until the program ends.
func Run(ctx context.Context, o Options) error {
	fd := int(o.Control.Fd())
	h, err := receive(fd)
	if errors.Is(err, errNoProgram) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newRelay(o)
	if err := r.serve(ctx, h.tunnel); err != nil {
		return err
	}
	for i, to := range o.List.Forwards() {
		if l := h.listeners[i]; l != nil {
			go r.forward(ctx, l, to)
		}
	}
	if err := ready(fd); err != nil {
		return err
	}
	await(h.program)
	r.report.end()
	r.drain(drainPatience)
	return nil
}

// drainPatience is how long the relay passes on what the program sent before it ended.
const drainPatience = 2 * time.Second

// drain waits until the destinations have what the program sent. The tunnel keeps its network, and so
// the queues of its sockets, which the kernel has closed.
func (r *relay) drain(patience time.Duration) {
	for deadline := time.Now().Add(patience); r.sending.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
}

func newRelay(o Options) *relay {
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupNetIP
	}
	return &relay{
		list: o.List, report: &reporter{to: o.Report, seen: map[string]bool{}}, names: newNames(o.Lookup), own: &ownAddresses{},
		connections: make(chan struct{}, maxConnections), queries: make(chan struct{}, maxQueries),
	}
}

// serve answers the packets of the tunnel.
func (r *relay) serve(ctx context.Context, tunnel int) error {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	receives := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4 << 10, Default: buffer, Max: buffer}
	sends := tcpip.TCPSendBufferSizeRangeOption{Min: 4 << 10, Default: buffer, Max: buffer}
	if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, &receives); err != nil {
		return fmt.Errorf("set the size of buffers: %s", err)
	}
	if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, &sends); err != nil {
		return fmt.Errorf("set the size of buffers: %s", err)
	}
	// The tunnel is inside this machine, so there are no damaged packets; the kernel checks those
	// that it gets.
	link, err := fdbased.New(&fdbased.Options{FDs: []int{tunnel}, MTU: mtu, RXChecksumOffload: true})
	if err != nil {
		return fmt.Errorf("use the tunnel: %w", err)
	}
	if err := s.CreateNIC(nic, &withoutICMP{link}); err != nil {
		return fmt.Errorf("use the tunnel: %s", err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	// Be every address that the program sends to.
	if err := s.SetPromiscuousMode(nic, true); err != nil {
		return fmt.Errorf("use the tunnel: %s", err)
	}
	if err := s.SetSpoofing(nic, true); err != nil {
		return fmt.Errorf("use the tunnel: %s", err)
	}
	queries, err := listenForQueries(s)
	if err != nil {
		return fmt.Errorf("use the tunnel: %w", err)
	}
	go r.queryDatagrams(ctx, queries)
	streams := tcp.NewForwarder(s, buffer, maxConnecting, func(request *tcp.ForwarderRequest) { r.stream(ctx, request) })
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, streams.HandlePacket)
	datagrams := udp.NewForwarder(s, func(request *udp.ForwarderRequest) bool { return r.datagrams(ctx, request) })
	s.SetTransportProtocolHandler(udp.ProtocolNumber, datagrams.HandlePacket)
	return nil
}

// listenForQueries opens the resolver's port.
func listenForQueries(s *stack.Stack) (*gonet.UDPConn, error) {
	address := tcpip.AddrFrom4(resolver.As4())
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: address.WithPrefix()}
	if err := s.AddProtocolAddress(nic, own, stack.AddressProperties{}); err != nil {
		return nil, fmt.Errorf("add the address of the resolver: %s", err)
	}
	return gonet.DialUDP(s, &tcpip.FullAddress{NIC: nic, Addr: address, Port: resolverPort}, nil, ipv4.ProtocolNumber)
}

// withoutICMP drops ICMP packets of the program: the stack would answer every ping itself. With them
// go the messages by which the kernel looks for routers.
type withoutICMP struct{ stack.LinkEndpoint }

// Attach implements stack.LinkEndpoint.
func (w *withoutICMP) Attach(to stack.NetworkDispatcher) {
	if to != nil {
		to = &dropping{to}
	}
	w.LinkEndpoint.Attach(to)
}

type dropping struct{ stack.NetworkDispatcher }

// DeliverNetworkPacket implements stack.NetworkDispatcher.
func (d *dropping) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	// Where each version of IP has the number of the next protocol, and the number of its ICMP.
	at, icmp := 9, byte(header.ICMPv4ProtocolNumber)
	if protocol == header.IPv6ProtocolNumber {
		at, icmp = 6, byte(header.ICMPv6ProtocolNumber)
	}
	start, ok := pkt.Data().PullUp(at + 1)
	if !ok || start[at] == icmp {
		return
	}
	d.NetworkDispatcher.DeliverNetworkPacket(protocol, pkt)
}

// local is the destination of a request; the stack is the destination's end.
func local(id stack.TransportEndpointID) netip.AddrPort {
	address, _ := netip.AddrFromSlice(id.LocalAddress.AsSlice())
	return netip.AddrPortFrom(address.Unmap(), id.LocalPort)
}

// refuses reports whether the list refuses a destination, and reports the refusal.
func (r *relay) refuses(protocol string, to netip.AddrPort) bool {
	refusal := r.list.Connect(network.Destination{Protocol: protocol, Address: to.Addr(), Port: to.Port(), Names: r.names.of(to.Addr()), Own: r.own.has(to.Addr())})
	if refusal == nil {
		return false
	}
	r.report.refused(refusal)
	return true
}

// take takes a token if there is one left.
func take(tokens chan struct{}) bool {
	select {
	case tokens <- struct{}{}:
		return true
	default:
		return false
	}
}
