// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

// resolverFile lists the name servers of the machine.
const resolverFile = "/etc/resolv.conf"

// upstream asks the machine's name servers, one after the other; nil if none answers. It does not
// check the reply: connections to addresses in it are checked when they are made.
func upstream(ctx context.Context, protocol string, query []byte) []byte {
	text, err := os.ReadFile(resolverFile)
	if err != nil || query == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	for _, server := range servers(string(text)) {
		if reply, err := exchange(ctx, protocol, server, query); err == nil {
			return reply
		}
	}
	return nil
}

// servers are the name servers in a resolver's configuration.
func servers(text string) (all []netip.AddrPort) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if address, err := netip.ParseAddr(fields[1]); err == nil {
			all = append(all, netip.AddrPortFrom(address, resolverPort))
		}
	}
	return all
}

// exchange sends a query to one server. A reply has the query's number.
func exchange(ctx context.Context, protocol string, server netip.AddrPort, query []byte) ([]byte, error) {
	const patience = 3 * time.Second
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, protocol, server.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if protocol == "tcp" {
		if err := writeMessage(conn, query); err != nil {
			return nil, err
		}
		return readMessage(conn)
	}
	if _, err := conn.Write(query); err != nil {
		return nil, err
	}
	reply := make([]byte, maxDatagram)
	n, err := conn.Read(reply)
	if err == nil && (n < 2 || reply[0] != query[0] || reply[1] != query[1]) {
		err = fmt.Errorf("the name server %s answered another query", server)
	}
	return reply[:n], err
}
