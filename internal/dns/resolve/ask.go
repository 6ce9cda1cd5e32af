// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// timeout bounds a question. A server that checks endpoints answers from memory.
const timeout = 5 * time.Second

// Answer is what a server answers.
type Answer struct {
	// Code is the response code, such as NOERROR, NXDOMAIN or SERVFAIL.
	Code string
	// Addresses are sorted.
	Addresses []netip.Addr
	// TTL is that of the first address.
	TTL time.Duration
}

// Ask asks a server, HOST:PORT, for the records of a type: A or AAAA. The dialer decides which addresses
// may be asked.
func Ask(ctx context.Context, dialer *net.Dialer, server, host, kind string) (Answer, error) {
	return ask(ctx, dialer, server, host, kind, false)
}

func ask(ctx context.Context, dialer *net.Dialer, server, host, kind string, recursive bool) (Answer, error) {
	question := new(dns.Msg)
	question.SetQuestion(dns.Fqdn(host), dns.StringToType[kind])
	question.RecursionDesired = recursive
	var answer *dns.Msg
	var err error
	for _, network := range []string{"udp", "tcp"} {
		client := &dns.Client{Net: network, Timeout: timeout, Dialer: dialer}
		answer, _, err = client.ExchangeContext(ctx, question, server)
		if err != nil {
			return Answer{}, fmt.Errorf("ask the DNS server %s for %s: %w", server, host, err)
		}
		if !answer.Truncated {
			break
		}
	}
	a := Answer{Code: dns.RcodeToString[answer.Rcode]}
	for _, record := range answer.Answer {
		address, ok := addressOf(record)
		if !ok {
			continue
		}
		if len(a.Addresses) == 0 {
			a.TTL = time.Duration(record.Header().Ttl) * time.Second
		}
		a.Addresses = append(a.Addresses, address)
	}
	slices.SortFunc(a.Addresses, netip.Addr.Compare)
	return a, nil
}

func addressOf(record dns.RR) (netip.Addr, bool) {
	switch r := record.(type) {
	case *dns.A:
		a, ok := netip.AddrFromSlice(r.A.To4())
		return a, ok
	case *dns.AAAA:
		return netip.AddrFromSlice(r.AAAA.To16())
	}
	return netip.Addr{}, false
}
