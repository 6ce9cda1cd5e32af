// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strings"
)

// Beginnings of the lines of a relay's report.
const (
	// notice begins each, so that other output is not taken for one.
	notice  = "the network of "
	refused = notice + "runs does not allow "
	further = notice + "runs refused "
	// Ended begins the line about a relay that ended before its program.
	Ended = notice + "this run ended: "
)

// How a refusal ends, after what it is about.
const (
	because    = ", which is "
	howTo      = ". To allow it: --run-network-allow '"
	howSpecial = ". Special addresses need an entry of their own"
)

// IsNotice reports whether a line is from a relay's report.
func IsNotice(line string) bool { return strings.HasPrefix(line, notice) }

// Explains reports whether a notice may be the reason of a failure, whose text names what was refused.
// Programs probe destinations that they do not need, such as metadata services. Notices about the
// whole network may be the reason of every failure.
func Explains(line, failure string) bool {
	about, found := strings.CutPrefix(line, refused)
	if !found {
		return IsNotice(line) && !strings.HasPrefix(line, further)
	}
	for _, end := range []string{because, howTo, howSpecial} {
		about, _, _ = strings.Cut(about, end)
	}
	failure = strings.ToLower(failure)
	for _, subject := range strings.Fields(about) {
		if mentions(failure, hostOf(strings.Trim(subject, "()"))) {
			return true
		}
	}
	return false
}

// hostOf is the name or address of a destination, HOST[:PORT[/udp]].
func hostOf(destination string) string {
	destination = strings.TrimSuffix(destination, "/"+UDP)
	if to, err := netip.ParseAddrPort(destination); err == nil {
		return to.Addr().String()
	}
	if address, err := netip.ParseAddr(destination); err == nil {
		return address.String()
	}
	host, _, _ := strings.Cut(destination, ":")
	return host
}

// mentions reports whether a text has the host, and not only as a part of another one.
func mentions(text, host string) bool {
	if host == "" {
		return false
	}
	for rest := text; ; {
		at := strings.Index(rest, host)
		if at < 0 {
			return false
		}
		before, after := rest[:at], rest[at+len(host):]
		if !continues(before, len(before)-1) && !strings.HasSuffix(before, ".") && !continues(after, 0) && !(strings.HasPrefix(after, ".") && continues(after, 1)) {
			return true
		}
		rest = rest[at+1:]
	}
}

// continues reports whether the text has a character of a name at a place.
func continues(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
}
