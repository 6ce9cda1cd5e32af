// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Protocols of entries.
const (
	TCP = "tcp"
	UDP = "udp"
)

// Everything is the entry that allows all names and all addresses that are not special.
const Everything = "*"

// Entry names destinations.
type Entry struct {
	// Name is a host name, in lower case; Wildcard also means that only names below it match. Prefix
	// is an address or a network. Without both, the entry is [Everything].
	Name     string
	Wildcard bool
	Prefix   netip.Prefix
	// First and Last are the ports, 0 and 65535 for all.
	First, Last uint16
	Protocol    string
}

// Parse reads an entry:
//
//	HOST[:PORT[-PORT]][/udp]
//
// HOST is a name, *.NAME, an address, a network, or *. An IPv6 address with a port is in brackets.
func Parse(text string) (Entry, error) {
	e, err := parse(text)
	if err != nil {
		return e, fmt.Errorf("%q: %w", text, err)
	}
	return e, nil
}

func parse(text string) (Entry, error) {
	if strings.Contains(text, "://") {
		return Entry{}, errors.New("want HOST:PORT, without a scheme")
	}
	e := Entry{Last: 65535, Protocol: TCP}
	host := text
	for _, protocol := range []string{TCP, UDP} {
		if rest, found := strings.CutSuffix(host, "/"+protocol); found {
			host, e.Protocol = rest, protocol
		}
	}
	host, ports, err := cutPorts(host)
	if err != nil {
		return e, err
	}
	if ports != "" {
		if e.First, e.Last, err = parsePorts(ports); err != nil {
			return e, err
		}
	}
	if err := e.setHost(host); err != nil {
		return e, err
	}
	return e, e.checkLoopback()
}

// cutPorts separates the ports from a host.
func cutPorts(text string) (host, ports string, err error) {
	if rest, bracket := strings.CutPrefix(text, "["); bracket {
		host, ports, found := strings.Cut(rest, "]")
		switch {
		case !found || ports != "" && !strings.HasPrefix(ports, ":") || ports == ":":
			return "", "", errors.New("want [ADDRESS]:PORT")
		}
		return host, strings.TrimPrefix(ports, ":"), nil
	}
	if strings.Count(text, ":") > 1 { // IPv6 without a port
		return text, "", nil
	}
	host, ports, found := strings.Cut(text, ":")
	if found && ports == "" {
		return "", "", errors.New("want a port after the colon")
	}
	return host, ports, nil
}

func parsePorts(text string) (first, last uint16, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseUint(from, 10, 16)
	b, errB := strconv.ParseUint(to, 10, 16)
	if errA != nil || errB != nil || a == 0 || b < a {
		return 0, 0, fmt.Errorf("the port %q: want a number from 1 to 65535, or two with a hyphen", text)
	}
	return uint16(a), uint16(b), nil
}

func (e *Entry) setHost(host string) error {
	if host == Everything {
		return nil
	}
	if prefix, err := netip.ParsePrefix(host); err == nil {
		if prefix != prefix.Masked() {
			return fmt.Errorf("want the network %s", prefix.Masked())
		}
		e.Prefix = prefix
		return nil
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if address.Zone() != "" {
			return errors.New("an address cannot have a zone")
		}
		address = address.Unmap()
		e.Prefix = netip.PrefixFrom(address, address.BitLen())
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	name, e.Wildcard = strings.CutPrefix(name, "*.")
	if !IsName(name) || looksNumeric(name) {
		return errors.New("want a name, *.NAME, an address, a network such as 10.0.0.0/8, or *")
	}
	e.Name = name
	return nil
}

// checkLoopback reports entries for loopback that cannot be forwarded.
func (e *Entry) checkLoopback() error {
	onLoopback := e.Name == localhost || e.Prefix.IsValid() && e.Prefix.Addr().IsLoopback()
	if !onLoopback {
		return nil
	}
	if e.First != e.Last || e.Protocol != TCP || e.Prefix.IsValid() && !e.Prefix.IsSingleIP() {
		return errors.New("an entry for loopback needs one address and one TCP port, such as 127.0.0.1:5432")
	}
	return nil
}

// localhost is the name that programs resolve to loopback themselves.
const localhost = "localhost"

// maxName is the length of the longest name in DNS.
const maxName = 253

// IsName reports whether a text can be a host name. Underscores occur in names of services.
func IsName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, label := range strings.Split(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// looksNumeric reports whether programs may take a name for an address, such as 127.1 or 10.0.0.
func looksNumeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil
}

// matchesName reports whether the entry names a host.
func (e *Entry) matchesName(name string) bool {
	switch {
	case e.Prefix.IsValid():
		return false
	case e.Name == "":
		return true
	case e.Wildcard:
		return strings.HasSuffix(name, "."+e.Name)
	}
	return name == e.Name
}

// matchesPort reports whether the entry allows the port.
func (e *Entry) matchesPort(protocol string, port uint16) bool {
	return e.Protocol == protocol && port >= e.First && port <= e.Last
}
