// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func in(texts ...string) map[netip.Addr]bool {
	set := map[netip.Addr]bool{}
	for _, t := range texts {
		set[netip.MustParseAddr(t)] = true
	}
	return set
}

func TestEvaluate(t *testing.T) {
	// Frankfurt and New York; the client is in Berlin.
	places := func(a netip.Addr) (float64, float64) {
		switch a.String() {
		case "192.0.2.1":
			return 50.1, 8.7
		case "198.51.100.1":
			return 40.7, -74
		}
		return 52.5, 13.4
	}
	berlin := netip.MustParseAddr("203.0.113.7")
	for name, test := range map[string]struct {
		code  string
		world World
		want  []string
	}{
		"the first group is up": {"ifurlup('http://a.example/',{{'192.0.2.1'},{'192.0.2.2'}},{selector='all'})", World{}, []string{"100% [192.0.2.1]"}},
		"the second group is":   {"ifurlup('http://a.example/',{{'192.0.2.1'},{'192.0.2.2'}},{selector='all'})", World{Down: in("192.0.2.1")}, []string{"100% [192.0.2.2]"}},
		"PowerDNS' defaults":    {"ifportup(443,{'192.0.2.1','192.0.2.2'})", World{Down: in("192.0.2.1", "192.0.2.2")}, []string{"50% [192.0.2.1]", "50% [192.0.2.2]"}},
		"weights":               {"pickwhashed({{80,'192.0.2.1'},{20,'192.0.2.2'},{0,'192.0.2.3'}})", World{}, []string{"80% [192.0.2.1]", "20% [192.0.2.2]"}},
		"nested choices":        {"pickrandom({pickrandom({'192.0.2.1','192.0.2.2'}),'192.0.2.1'})", World{}, []string{"75% [192.0.2.1]", "25% [192.0.2.2]"}},
		"the closest":           {"pickclosest({'192.0.2.1','198.51.100.1'})", World{From: berlin, Locate: places}, []string{"100% [192.0.2.1]"}},
		"the closest is down":   {"ifportup(443,{'192.0.2.1','198.51.100.1'},{selector='pickclosest'})", World{From: berlin, Locate: places, Down: in("192.0.2.1")}, []string{"100% [198.51.100.1]"}},
		"without a database":    {"pickclosest({'192.0.2.1','198.51.100.1'})", World{From: berlin}, []string{"50% [192.0.2.1]", "50% [198.51.100.1]"}},
		"statements":            {";local a='2001:db8::1' return {a}", World{}, []string{"100% [2001:db8::1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			outcomes, err := Evaluate(test.code, test.world)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range outcomes {
				got = append(got, fmt.Sprintf("%.0f%% %v", o.Share*100, o.Addresses))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What PowerDNS takes, and then answers randomly, fails, or does worse.
func TestWhatTheLintFinds(t *testing.T) {
	for says, code := range map[string]string{
		"does not have the selector \"pickfirst\"":    "ifurlup('http://a.example/',{'192.0.2.1','192.0.2.2'},{selector='pickfirst'})",
		"does not have the option \"failOnIncerror\"": "ifurlup('http://a.example/',{'192.0.2.1'},{failOnIncerror='true'})",
		"does not have the option \"stringmatch\"":    "ifportup(443,{'192.0.2.1'},{stringmatch='ok'})",
		"knows no groups":                       "ifportup(443,{{'192.0.2.1'},{'192.0.2.2'}})",
		"are mixed":                             "ifportup(443,{'192.0.2.1','2001:db8::1'})",
		"not a port":                            "ifportup(0,{'192.0.2.1'})",
		"the weights are 0":                     "pickwhashed({{0,'192.0.2.1'}})",
		"not valid Lua":                         "pickrandom({'192.0.2.1'",
		"answers with nil":                      ";local a=1",
		"not an address":                        "'www.example.org'",
		"takes more than 1000 steps":            ";while true do end",
		"more than 1000 possible answers":       ";local t={} for i=1,11 do t[i]=pickrandom({'192.0.2.1','192.0.2.2'}) end return t",
		"attempt to call a non-function object": "os.execute('true')",
		"attempt to index a non-table object(nil) with key 'open'": "io.open('/etc/passwd')",
		"attempt to call a nil value":                              "string.rep('a',1000000000)",
		"registry overflow":                                        ";local function f() return f() .. 'a' end return f()",
	} {
		_, err := Evaluate(code, World{})
		if err == nil {
			t.Errorf("%s was accepted", code)
			continue
		}
		if !strings.Contains(err.Error(), says) && !strings.HasPrefix(says, "attempt") && says != "registry overflow" {
			t.Errorf("%s: want an error with %q, got %v", code, says, err)
		}
	}
	for _, global := range []string{"os", "io", "load", "loadstring", "dofile", "require", "print", "pcall", "setmetatable", "getfenv", "collectgarbage", "newproxy"} {
		if _, err := Evaluate(";if "+global+"~=nil then return '192.0.2.1' end", World{}); err == nil {
			t.Errorf("records can use %s", global)
		}
	}
}
