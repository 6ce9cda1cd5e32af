// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntriesThatAreNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "want a name",
		"https://example.com":     "want HOST:PORT, without a scheme",
		"example.com:":            "want a port after the colon",
		"example.com:0":           `the port "0"`,
		"example.com:https":       `the port "https"`,
		"example.com:443-80":      `the port "443-80"`,
		"example.com:65536":       `the port "65536"`,
		"*.*.example.com":         "want a name",
		"*example.com":            "want a name",
		"example..com":            "want a name",
		"exa mple.com":            "want a name",
		"example.com/icmp":        "want a name",
		"127.1:80":                "want a name",
		"0x7f000001":              "want a name",
		"10.0.0.1/8":              "want the network 10.0.0.0/8",
		"fe80::1%eth0":            "cannot have a zone",
		"[::1":                    "want [ADDRESS]:PORT",
		"[fd00::1]443":            "want [ADDRESS]:PORT",
		"127.0.0.1":               "needs one address and one TCP port",
		"127.0.0.0/8:80":          "needs one address and one TCP port",
		"127.0.0.1:80-81":         "needs one address and one TCP port",
		"localhost":               "needs one address and one TCP port",
		"localhost:53/udp":        "needs one address and one TCP port",
		"[::1]":                   "needs one address and one TCP port",
		strings.Repeat("a.", 200): "want a name",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestEntries(t *testing.T) {
	all := netip.MustParsePrefix
	for text, want := range map[string]Entry{
		"*":                        {Last: 65535, Protocol: TCP},
		"*:443":                    {First: 443, Last: 443, Protocol: TCP},
		"Example.COM.":             {Name: "example.com", Last: 65535, Protocol: TCP},
		"*.amazonaws.com:443":      {Name: "amazonaws.com", Wildcard: true, First: 443, Last: 443, Protocol: TCP},
		"10.0.0.0/8":               {Prefix: all("10.0.0.0/8"), Last: 65535, Protocol: TCP},
		"10.0.0.0/8:5432-5433":     {Prefix: all("10.0.0.0/8"), First: 5432, Last: 5433, Protocol: TCP},
		"10.1.2.3:123/udp":         {Prefix: all("10.1.2.3/32"), First: 123, Last: 123, Protocol: UDP},
		"10.0.0.0/8/udp":           {Prefix: all("10.0.0.0/8"), Last: 65535, Protocol: UDP},
		"fd00::/8":                 {Prefix: all("fd00::/8"), Last: 65535, Protocol: TCP},
		"[fd00::/8]:443":           {Prefix: all("fd00::/8"), First: 443, Last: 443, Protocol: TCP},
		"[fd00::1]:443/tcp":        {Prefix: all("fd00::1/128"), First: 443, Last: 443, Protocol: TCP},
		"::ffff:10.1.2.3":          {Prefix: all("10.1.2.3/32"), Last: 65535, Protocol: TCP},
		"127.0.0.1:5432":           {Prefix: all("127.0.0.1/32"), First: 5432, Last: 5432, Protocol: TCP},
		"localhost:5432":           {Name: "localhost", First: 5432, Last: 5432, Protocol: TCP},
		"_ldap._tcp.corp.internal": {Name: "_ldap._tcp.corp.internal", Last: 65535, Protocol: TCP},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// parsed is a list that must be valid.
func parsed(t testing.TB, entries ...string) List {
	t.Helper()
	list, err := ParseList(entries)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestConnect(t *testing.T) {
	// A destination is [NAME=]ADDRESS:PORT[/udp][ own].
	for name, c := range map[string]struct {
		list            []string
		allows, refuses []string
	}{
		"without a list: all but this machine and metadata services": {
			nil,
			[]string{"93.184.216.34:443", "github.com=140.82.121.4:22", "10.1.2.3:5432", "192.168.1.1:80", "[2606:4700::1111]:443", "[fd12::1]:80", "[64:ff9b::101:101]:443"},
			[]string{
				"127.0.0.1:7443", "evil.example.com=127.0.0.1:7443", "127.9.9.9:1", "[::1]:7443", "[::ffff:127.0.0.1]:7443", "[64:ff9b::127.0.0.1]:7443", "0.0.0.0:7443", "[::]:7443",
				"169.254.169.254:80", "metadata.google.internal=169.254.169.254:80", "[fd00:ec2::254]:80", "[fe80::1]:80", "168.63.129.16:80", "100.100.100.200:80", "[64:ff9b::a9fe:a9fe]:80", "[2002:a9fe:a9fe::]:80",
				"224.0.0.1:80", "255.255.255.255:80", "240.0.0.1:80", "10.0.0.5:7443 own", "yuba.example.com=192.0.2.1:7443 own", "[fd12::2]:7443 own", "8.8.8.8:53/udp",
			},
		},
		"everything on one port": {
			[]string{"*:443"}, []string{"93.184.216.34:443"}, []string{"93.184.216.34:80", "127.0.0.1:443", "10.0.0.5:443 own"},
		},
		"names, with and without ports": {
			[]string{"github.com:443", "*.amazonaws.com:443", "db.corp.internal"},
			[]string{"github.com=140.82.121.4:443", "s3.eu-west-1.amazonaws.com=52.218.1.1:443", "other.example.com,github.com=140.82.121.4:443", "db.corp.internal=10.1.2.3:5432"},
			[]string{
				"140.82.121.4:443", "github.com=140.82.121.4:22", "gist.github.com=140.82.121.4:443", "amazonaws.com=52.218.1.1:443", "evilamazonaws.com=52.218.1.1:443",
				"amazonaws.com.evil.example.com=52.218.1.1:443", "github.com=127.0.0.1:443", "github.com=169.254.169.254:443", "db.corp.internal=10.0.0.5:5432 own", "github.com=140.82.121.4:443/udp",
			},
		},
		"addresses and networks": {
			[]string{"10.0.0.0/8:5432", "[fd12::/16]:443", "192.0.2.7"},
			[]string{"10.200.1.1:5432", "db.corp.internal=10.200.1.1:5432", "[fd12::7]:443", "192.0.2.7:1"},
			[]string{"10.200.1.1:80", "11.0.0.1:5432", "10.0.0.5:5432 own", "[fd12::7]:80", "192.0.2.8:1"},
		},
		"a large network does not have special addresses in it": {
			[]string{"0.0.0.0/0", "::/0"},
			[]string{"93.184.216.34:443", "[2606:4700::1111]:443"},
			[]string{"127.0.0.1:80", "169.254.169.254:80", "[::1]:80", "[fd00:ec2::254]:80", "10.0.0.5:80 own"},
		},
		"special addresses that are named themselves": {
			[]string{"127.0.0.1:5432", "169.254.169.254:80", "10.0.0.5:8443", "169.254.170.0/24:80"},
			[]string{"127.0.0.1:5432", "pg.example.com=127.0.0.1:5432", "169.254.169.254:80", "10.0.0.5:8443 own", "yuba.example.com=10.0.0.5:8443 own", "169.254.170.2:80"},
			[]string{"127.0.0.1:7443", "127.0.0.2:5432", "169.254.169.254:8080", "10.0.0.5:7443 own", "[::1]:5432", "[64:ff9b::127.0.0.1]:5432", "169.254.171.2:80"},
		},
		"datagrams only where an entry says so": {
			[]string{"*", "10.0.0.53:53/udp", "time.example.com:123/udp"},
			[]string{"10.0.0.53:53/udp", "10.0.0.53:53", "time.example.com=192.0.2.9:123/udp"},
			[]string{"10.0.0.54:53/udp", "192.0.2.9:123/udp"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := parsed(t, c.list...)
			for want, destinations := range map[bool][]string{true: c.allows, false: c.refuses} {
				for _, text := range destinations {
					if r := list.Connect(destination(text)); (r == nil) != want {
						t.Errorf("%s: %v", text, r)
					}
				}
			}
		})
	}
}

// destination reads one of the table.
func destination(text string) (d Destination) {
	text, d.Own = strings.CutSuffix(text, " own")
	d.Protocol = TCP
	if rest, udp := strings.CutSuffix(text, "/udp"); udp {
		text, d.Protocol = rest, UDP
	}
	if names, rest, named := strings.Cut(text, "="); named {
		text, d.Names = rest, strings.Split(names, ",")
	}
	to := netip.MustParseAddrPort(text)
	d.Address, d.Port = to.Addr(), to.Port()
	return d
}

// The entry of a refusal allows its destination. Refusals of special addresses do not print it.
func TestRefusalsNameTheEntryThatAllows(t *testing.T) {
	for _, text := range []string{"github.com=140.82.121.4:22", "140.82.121.4:443", "[2606:4700::1111]:443", "metadata.google.internal=169.254.169.254:80", "127.0.0.1:7443", "yuba.example.com=10.0.0.5:7443 own", "8.8.8.8:53/udp", "time.example.com=192.0.2.9:123/udp"} {
		list := parsed(t, "registry.example.com:443")
		refusal := list.Connect(destination(text))
		if refusal == nil {
			t.Fatalf("%s is allowed", text)
		}
		want := ". To allow it: --run-network-allow '" + refusal.Entry + "'"
		if refusal.Why != "" {
			want = ", which is " + refusal.Why + ". Special addresses need an entry of their own"
		}
		if !strings.HasSuffix(refusal.Error(), want) {
			t.Errorf("%s: %v", text, refusal)
		}
		if again := parsed(t, refusal.Entry).Connect(destination(text)); again != nil {
			t.Errorf("%s is not allowed by %s: %v", text, refusal.Entry, again)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		list, allows, refuses []string
	}{
		{nil, []string{"example.com", "vm"}, nil},
		{[]string{"*:443"}, []string{"example.com"}, nil},
		{[]string{"github.com:443", "*.amazonaws.com"}, []string{"github.com", "a.b.amazonaws.com"}, []string{"amazonaws.com", "example.com", "github.com.example.com"}},
		{[]string{"10.0.0.0/8"}, nil, []string{"example.com"}},
	} {
		list := parsed(t, c.list...)
		for _, name := range c.allows {
			if r := list.Resolve(name); r != nil {
				t.Errorf("%v: %v", c.list, r)
			}
		}
		for _, name := range c.refuses {
			if r := list.Resolve(name); r == nil {
				t.Errorf("%v: %s is allowed", c.list, name)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	list := parsed(t, "*", "127.0.0.1:5432", "10.0.0.5:8443")
	for text, want := range map[string]bool{"93.184.216.34": true, "10.1.2.3": true, "127.0.0.1": true, "127.0.0.2": false, "::1": false, "169.254.169.254": false, "fd00:ec2::254": false, "0.0.0.0": false} {
		if r := list.Answer("name.example.com", netip.MustParseAddr(text), false); (r == nil) != want {
			t.Errorf("%s: %v", text, r)
		}
	}
	if r := list.Answer("name.example.com", netip.MustParseAddr("10.0.0.5"), true); r != nil {
		t.Error(r)
	}
	if r := list.Answer("name.example.com", netip.MustParseAddr("10.0.0.6"), true); r == nil {
		t.Error("an address of this machine is an answer")
	}
	if r := list.Answer("name.example.com", netip.IPv6Loopback(), false); r == nil || r.Entry != "[::1]:PORT" {
		t.Error(r)
	}
}

func TestForwards(t *testing.T) {
	list := parsed(t, "*", "localhost:5432", "127.0.0.1:5432", "127.0.0.2:80", "[::1]:443")
	var got []string
	for _, f := range list.Forwards() {
		got = append(got, f.String())
	}
	if diff := cmp.Diff([]string{"127.0.0.1:5432", "[::1]:5432", "127.0.0.2:80", "[::1]:443"}, got); diff != "" {
		t.Error(diff)
	}
	var many []string
	for port := range 65 {
		many = append(many, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(1000+port)).String())
	}
	if _, err := ParseList(many); err == nil {
		t.Error("there can be too many forwards")
	}
}

// No entry of a name, a network or everything ever allows an address of loopback or metadata.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"*", "*.example.com:443", "0.0.0.0/0", "::/0", "[fd00::/8]:443", "10.0.0.0/8:1-2/udp", "localhost:80", "127.0.0.1:80", "::ffff:0:0/96"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil || e.Prefix.IsValid() && Special(e.Prefix.Addr(), false) != "" {
			return
		}
		list := List{e}
		for _, address := range []string{"127.0.0.1", "::1", "169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::7f00:1"} {
			d := Destination{Protocol: e.Protocol, Address: netip.MustParseAddr(address), Port: max(e.First, 1), Names: []string{"a.example.com", e.Name, "x." + e.Name}}
			if list.Connect(d) == nil {
				t.Errorf("%q allows %s", text, address)
			}
		}
	})
}
