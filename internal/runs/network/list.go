// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// List is what an isolated network may reach.
type List []Entry

// maxForwards limits loopback ports, because their sockets are handed over in one message.
const maxForwards = 64

// ParseList reads entries. No entries are the default, [Everything].
func ParseList(texts []string) (List, error) {
	if len(texts) == 0 {
		texts = []string{Everything}
	}
	list := make(List, 0, len(texts))
	for _, text := range texts {
		e, err := Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if n := len(list.Forwards()); n > maxForwards {
		return nil, fmt.Errorf("%d ports of loopback: there can be %d", n, maxForwards)
	}
	return list, nil
}

// Forwards returns the loopback addresses and ports that the list names, each once.
func (l List) Forwards() []netip.AddrPort {
	var all []netip.AddrPort
	seen := map[netip.AddrPort]bool{}
	add := func(address netip.Addr, port uint16) {
		if to := netip.AddrPortFrom(address, port); !seen[to] {
			seen[to] = true
			all = append(all, to)
		}
	}
	for _, e := range l {
		switch {
		case e.Name == localhost && !e.Wildcard:
			add(netip.AddrFrom4([4]byte{127, 0, 0, 1}), e.First)
			add(netip.IPv6Loopback(), e.First)
		case e.Prefix.IsValid() && e.Prefix.Addr().IsLoopback():
			add(e.Prefix.Addr(), e.First)
		}
	}
	return all
}

// Destination is one that a program wants to connect to.
type Destination struct {
	Protocol string
	Address  netip.Addr
	Port     uint16
	// Names are those that resolved to the address a short time ago.
	Names []string
	// Own is true for an address of this machine.
	Own bool
}

// Refusal says why a destination is not allowed, and how it can be.
type Refusal struct {
	// What is the destination, Why the reason, which may be empty, and Entry the entry that allows it.
	What, Why, Entry string
}

func (r *Refusal) Error() string {
	if r.Why != "" { // do not suggest to open the metadata service: programs commonly probe it
		return refused + r.What + because + r.Why + howSpecial
	}
	return refused + r.What + howTo + r.Entry + "'"
}

// Special says what a special address is; empty for others.
func Special(address netip.Addr, own bool) string {
	address = outbound.Embedded(address.Unmap().WithZone(""))
	switch {
	case address.IsLoopback() || address.IsUnspecified():
		return "on this machine"
	case outbound.Forbidden(address):
		return "link-local, multicast or a metadata service"
	case address.Is4() && address.As4()[0] >= 240:
		return "a reserved address"
	case own:
		return "an address of this machine"
	}
	return ""
}

// Connect returns why a connection is not allowed; nil if it is.
func (l List) Connect(d Destination) *Refusal {
	d.Address = d.Address.Unmap()
	why := Special(d.Address, d.Own)
	for i := range l {
		if e := &l[i]; e.matchesPort(d.Protocol, d.Port) && e.allows(d, why != "") {
			return nil
		}
	}
	host := d.Address.String()
	what := host
	if len(d.Names) > 0 {
		what = d.Names[0]
		if why == "" {
			host = what
		}
	}
	r := &Refusal{What: join(what, d.Port, d.Protocol), Why: why, Entry: join(host, d.Port, d.Protocol)}
	if what != d.Address.String() {
		r.What += " (" + d.Address.String() + ")"
	}
	return r
}

func join(host string, port uint16, protocol string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	text := fmt.Sprintf("%s:%d", host, port)
	if protocol != TCP {
		text += "/" + protocol
	}
	return text
}

// allows reports whether the entry allows a destination, apart from its port.
func (e *Entry) allows(d Destination, special bool) bool {
	if e.Prefix.IsValid() {
		return e.Prefix.Contains(d.Address) && (!special || e.namesSpecial())
	}
	if special {
		return false
	}
	if e.Name == "" {
		return true
	}
	for _, name := range d.Names {
		if e.matchesName(name) {
			return true
		}
	}
	return false
}

// special are networks of which all addresses are special, so that an entry can name a part of one.
var special = []netip.Prefix{netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fd00:ec2::/32")}

// namesSpecial reports whether the entry is an address, or a network that has only special ones.
func (e *Entry) namesSpecial() bool {
	return e.Prefix.IsSingleIP() || slices.ContainsFunc(special, func(all netip.Prefix) bool {
		return all.Bits() <= e.Prefix.Bits() && all.Contains(e.Prefix.Addr())
	})
}

// Resolve returns why a name must not be resolved; nil if it may.
func (l List) Resolve(name string) *Refusal {
	for i := range l {
		if l[i].matchesName(name) {
			return nil
		}
	}
	return &Refusal{What: name, Entry: name}
}

// Answer returns why an address must not be given as the answer for a name; nil if it may. It is a
// special one that no entry names: a program that gets it would reach another service than it meant.
func (l List) Answer(name string, address netip.Addr, own bool) *Refusal {
	why := Special(address, own)
	if why == "" {
		return nil
	}
	for i := range l {
		if e := &l[i]; e.Prefix.IsValid() && e.Prefix.Contains(address.Unmap()) && e.namesSpecial() {
			return nil
		}
	}
	r := &Refusal{What: name + " (" + address.String() + ")", Why: why, Entry: address.Unmap().String()}
	if address.IsLoopback() { // such entries need a port
		r.Entry = netip.AddrPortFrom(address, 0).String()
		r.Entry = strings.TrimSuffix(r.Entry, "0") + "PORT"
	}
	return r
}
