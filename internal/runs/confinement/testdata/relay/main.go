// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command relay is yuba-network with names of its own, which real resolvers do not have. It is not
// part of the test binary, which the race detector links dynamically: the relay's sandbox has no
// libraries.
package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/network"
	"github.com/yuba-dev/yuba/internal/runs/network/relay"
)

// noise is what a relay's sandbox prints where a wall is missing. It is not part of the report.
const noise = "yuba-sandbox: not confined: this kernel has no Landlock"

func main() {
	fmt.Fprintln(os.Stderr, noise)
	var entries []string
	for i := 2; i < len(os.Args); i += 2 { // after each -allow
		entries = append(entries, os.Args[i])
	}
	list, err := network.ParseList(entries)
	if err == nil {
		err = relay.Run(context.Background(), relay.Options{Control: os.Stdin, List: list, Report: os.Stdout, Lookup: lookup})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lookup knows a name that leads to loopback, one that first leads elsewhere, and names that are
// addresses with hyphens.
func lookup(_ context.Context, _, name string) ([]netip.Addr, error) {
	switch name {
	case "loopback.test.":
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case "metadata.test.":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254")}, nil
	}
	if address, err := netip.ParseAddr(strings.ReplaceAll(strings.TrimSuffix(name, ".at.test."), "-", ".")); err == nil {
		return []netip.Addr{address}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}
