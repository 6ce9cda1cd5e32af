// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/yuba-dev/yuba/internal/runs/network"
)

// world is a resolver with these names.
type world struct {
	names map[string]string
	asked atomic.Int32
}

func (w *world) lookup(_ context.Context, _, name string) ([]netip.Addr, error) {
	w.asked.Add(1)
	text, known := w.names[strings.TrimSuffix(name, ".")]
	if !known {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if text == "broken" {
		return nil, errors.New("server failure")
	}
	var all []netip.Addr
	for _, a := range strings.Fields(text) {
		all = append(all, netip.MustParseAddr(a))
	}
	return all, nil
}

func newTestRelay(t *testing.T, w *world, entries ...string) (*relay, *bytes.Buffer) {
	t.Helper()
	list, err := network.ParseList(entries)
	if err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	return newRelay(Options{List: list, Report: &report, Lookup: w.lookup}), &report
}

// ask sends a query and returns the reply's code and addresses, as text.
func ask(t *testing.T, r *relay, name string, kind dnsmessage.Type) string {
	t.Helper()
	query := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}}}
	packed, err := query.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var reply dnsmessage.Message
	if err := reply.Unpack(r.reply(t.Context(), "udp", packed)); err != nil {
		t.Fatal(err)
	}
	if reply.ID != 7 || !reply.Response {
		t.Errorf("%+v", reply.Header)
	}
	parts := []string{strings.TrimPrefix(reply.RCode.String(), "RCode")}
	for _, a := range reply.Answers {
		switch body := a.Body.(type) {
		case *dnsmessage.AResource:
			parts = append(parts, netip.AddrFrom4(body.A).String())
		case *dnsmessage.AAAAResource:
			parts = append(parts, netip.AddrFrom16(body.AAAA).String())
		}
	}
	return strings.Join(parts, " ")
}

func TestReplies(t *testing.T) {
	w := &world{names: map[string]string{
		"both.example.com": "192.0.2.1 2001:db8::1", "four.example.com": "192.0.2.1", "loop.example.com": "127.0.0.1 ::1", "mixed.example.com": "192.0.2.9 169.254.169.254",
		"broken.example.com": "broken", "mapped.example.com": "::ffff:127.0.0.1",
	}}
	r, report := newTestRelay(t, w, "*.example.com:443")
	for _, c := range []struct {
		name string
		kind dnsmessage.Type
		want string
	}{
		{"both.example.com.", dnsmessage.TypeA, "Success 192.0.2.1"},
		{"BOTH.example.com.", dnsmessage.TypeAAAA, "Success 2001:db8::1"},
		{"four.example.com.", dnsmessage.TypeAAAA, "Success"}, // musl takes a name that does not exist to have no IPv4 either
		{"loop.example.com.", dnsmessage.TypeA, "NameError"},
		{"mapped.example.com.", dnsmessage.TypeA, "NameError"},
		{"mixed.example.com.", dnsmessage.TypeA, "Success 192.0.2.9"},
		{"broken.example.com.", dnsmessage.TypeA, "ServerFailure"},
		{"missing.example.com.", dnsmessage.TypeA, "NameError"},
		{"other.example.org.", dnsmessage.TypeA, "NameError"},
		{"other.example.org.", dnsmessage.TypeTXT, "NameError"},
		{"1.2.0.192.in-addr.arpa.", dnsmessage.TypePTR, "NameError"},
		{"both.example.com.", typeHTTPS, "Success"},
		{"both.example.com.", dnsmessage.TypeALL, "NotImplemented"},
		{"a b.example.com.", dnsmessage.TypeA, "NameError"},
		{".", dnsmessage.TypeNS, "NameError"},
	} {
		if got := ask(t, r, c.name, c.kind); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.kind, got, c.want)
		}
	}
	if n := w.asked.Load(); n != 7 {
		t.Errorf("the resolver was asked %d times, and there are seven names", n)
	}
	want := `the network of runs does not allow loop.example.com (127.0.0.1), which is on this machine. Special addresses need an entry of their own
the network of runs does not allow loop.example.com (::1), which is on this machine. Special addresses need an entry of their own
the network of runs does not allow mapped.example.com (127.0.0.1), which is on this machine. Special addresses need an entry of their own
the network of runs does not allow mixed.example.com (169.254.169.254), which is link-local, multicast or a metadata service. Special addresses need an entry of their own
the network of runs does not allow other.example.org. To allow it: --run-network-allow 'other.example.org'
`
	if diff := cmp.Diff(want, report.String()); diff != "" {
		t.Error(diff)
	}
}

// A name's owner may answer with another address each time. What counts is the address that the
// program connects to.
func TestANameThatMovesToLoopback(t *testing.T) {
	w := &world{names: map[string]string{"moving.example.com": "192.0.2.1"}}
	r, _ := newTestRelay(t, w, "moving.example.com:443")
	to := netip.MustParseAddrPort("192.0.2.1:443")
	if !r.refuses(network.TCP, to) {
		t.Error("an address is allowed before its name was resolved")
	}
	if got := ask(t, r, "moving.example.com.", dnsmessage.TypeA); got != "Success 192.0.2.1" {
		t.Error(got)
	}
	if r.refuses(network.TCP, to) || !r.refuses(network.TCP, netip.MustParseAddrPort("192.0.2.1:80")) || !r.refuses(network.TCP, netip.MustParseAddrPort("192.0.2.2:443")) {
		t.Error("the address of an answer is allowed on its port, and nothing else")
	}
	w.names["moving.example.com"] = "127.0.0.1"
	clear(r.names.answers) // the answer has expired
	if got := ask(t, r, "moving.example.com.", dnsmessage.TypeA); got != "NameError" {
		t.Error(got)
	}
	if !r.refuses(network.TCP, netip.MustParseAddrPort("127.0.0.1:443")) {
		t.Error("loopback is allowed")
	}
	// Even an answer that came another way does not allow a special address.
	r.names.pin(netip.MustParseAddr("127.0.0.1"), "moving.example.com")
	if !r.refuses(network.TCP, netip.MustParseAddrPort("127.0.0.1:443")) {
		t.Error("loopback is allowed")
	}
}

// NAT64 leads from an address of IPv6 to one of this machine.
func TestAddressesThatEmbedThoseOfThisMachine(t *testing.T) {
	w := &world{names: map[string]string{"nat64.example.com": "64:ff9b::192.0.2.5", "other.example.com": "64:ff9b::192.0.2.6"}}
	r, _ := newTestRelay(t, w)
	r.own = &ownAddresses{known: map[netip.Addr]bool{netip.MustParseAddr("192.0.2.5"): true}, until: time.Now().Add(time.Hour)}
	for text, want := range map[string]bool{"192.0.2.5:443": true, "[64:ff9b::192.0.2.5]:443": true, "[64:ff9b::192.0.2.6]:443": false, "192.0.2.6:443": false} {
		if got := r.refuses(network.TCP, netip.MustParseAddrPort(text)); got != want {
			t.Errorf("%s is refused: %v", text, got)
		}
	}
	for name, want := range map[string]string{"nat64.example.com.": "NameError", "other.example.com.": "Success 64:ff9b::c000:206"} {
		if got := ask(t, r, name, dnsmessage.TypeAAAA); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A program cannot make the relay remember more and more names.
func TestAFloodOfNames(t *testing.T) {
	w := &world{names: map[string]string{}}
	for n := range 3 * maxPins / 2 {
		w.names[fmt.Sprintf("n%d.example.com", n)] = fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255)
	}
	r, report := newTestRelay(t, w, "*.example.com", "*.example.net:80")
	for n := range 3 * maxPins / 2 {
		ask(t, r, fmt.Sprintf("n%d.example.com.", n), dnsmessage.TypeA)
		ask(t, r, fmt.Sprintf("n%d.example.org.", n), dnsmessage.TypeA)
	}
	if len(r.names.answers) > maxNames || len(r.names.pins) > maxPins {
		t.Errorf("%d answers and %d pins", len(r.names.answers), len(r.names.pins))
	}
	r.report.end()
	if lines := strings.Count(report.String(), "\n"); lines != maxReports+1 || !strings.HasSuffix(report.String(), fmt.Sprintf("refused %d further attempts\n", 3*maxPins/2-maxReports)) {
		t.Errorf("%d lines:\n%s", lines, report)
	}
	r.report.overflow()
	for line := range strings.Lines(report.String()) {
		if !network.IsNotice(line) {
			t.Errorf("the report has %q", line)
		}
	}
}

func TestServersOfTheMachine(t *testing.T) {
	got := fmt.Sprint(servers("# comment\nsearch example.com\nnameserver 10.0.0.53\nnameserver ::1\noptions edns0\nnameserver\nnameserver here\n"))
	if want := "[10.0.0.53:53 [::1]:53]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Programs send whatever they like to the resolver.
func FuzzReply(f *testing.F) {
	query := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("a.example.com."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packed, err := query.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add([]byte{})
	list, err := network.ParseList([]string{"*.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	w := &world{names: map[string]string{"a.example.com": "192.0.2.1"}}
	f.Fuzz(func(t *testing.T, message []byte) {
		r := newRelay(Options{List: list, Report: &bytes.Buffer{}, Lookup: w.lookup})
		reply := r.reply(t.Context(), "none", message) // a protocol by which no other server is asked
		var parsed dnsmessage.Message
		if err := parsed.Unpack(reply); reply != nil && err != nil {
			t.Errorf("%q: %v", reply, err)
		}
	})
}
