// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/runs/network"
)

// maxReports is how many refusals are reported.
const maxReports = 16

// reporter writes refusals, each once.
type reporter struct {
	to io.Writer

	mu   sync.Mutex
	seen map[string]bool
	more int
	full bool
}

func (r *reporter) refused(refusal *network.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch text := refusal.Error(); {
	case r.seen[text]:
	case len(r.seen) == maxReports:
		r.more++
	default:
		r.seen[text] = true
		r.write(text)
	}
}

// overflow reports, once, that the program has too many connections.
func (r *reporter) overflow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.full {
		r.full = true
		r.write(fmt.Sprintf("the network of runs allows %d connections of a program at a time; more are refused", maxConnections))
	}
}

// end reports what was left out.
func (r *reporter) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more > 0 {
		r.write(fmt.Sprintf("the network of runs refused %d further attempts", r.more))
	}
}

// write writes a line at once, so that others see whole lines.
func (r *reporter) write(text string) {
	_, _ = io.WriteString(r.to, text+"\n") // a report that cannot be written changes nothing
}

// ownAddresses are those of this machine's interfaces, which may change.
type ownAddresses struct {
	mu    sync.Mutex
	known map[netip.Addr]bool
	until time.Time
}

// ownLife is how long the list is used.
const ownLife = 2 * time.Second

// has reports whether an address is one of this machine, or leads to its IPv4 address. If the list cannot be read, all are.
func (o *ownAddresses) has(address netip.Addr) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().After(o.until) {
		all, err := net.InterfaceAddrs()
		if err != nil {
			return true
		}
		o.known, o.until = map[netip.Addr]bool{}, time.Now().Add(ownLife)
		for _, a := range all {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				o.known[prefix.Addr().Unmap()] = true
			}
		}
	}
	return o.known[address.Unmap()] || o.known[outbound.Embedded(address)]
}
