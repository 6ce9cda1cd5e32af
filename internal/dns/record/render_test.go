// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/dns/simulate"
)

func number(n int32) *int32 { return &n }

// endpoint is name=address,address; priority and weight as in p1 and w80.
func endpoint(name, addresses string, more ...string) yubav1.FailoverEndpoint {
	e := yubav1.FailoverEndpoint{Name: name, Addresses: strings.Split(addresses, ",")}
	for _, m := range more {
		var n int32
		if _, err := fmt.Sscanf(m, "p%d", &n); err == nil {
			e.Priority = number(n)
		}
		if _, err := fmt.Sscanf(m, "w%d", &n); err == nil {
			e.Weight = number(n)
		}
	}
	return e
}

var (
	web = &yubav1.FailoverCheck{HTTP: &yubav1.FailoverHTTPCheck{URL: "https://www.example.org/health"}}
	tcp = &yubav1.FailoverCheck{TCP: &yubav1.FailoverTCPCheck{Port: 443}}
)

func spec(p yubav1.FailoverPlacement, check *yubav1.FailoverCheck, endpoints ...yubav1.FailoverEndpoint) yubav1.FailoverRecordSpec {
	return yubav1.FailoverRecordSpec{Host: "www.example.org", Placement: p, Check: check, Endpoints: endpoints}
}

func TestRender(t *testing.T) {
	eu, us := endpoint("eu", "192.0.2.1"), endpoint("us", "198.51.100.1", "p1")
	plain := endpoint("us", "198.51.100.1")
	all := spec(yubav1.PlacementActivePassive, &yubav1.FailoverCheck{TimeoutSeconds: 1, IntervalSeconds: 10, MinimumFailures: 2,
		HTTP: &yubav1.FailoverHTTPCheck{URL: "https://www.example.org/health?a='b", Contains: "it's", UserAgent: "yuba"}}, eu, us)
	all.Selector, all.WhenAllDown = yubav1.SelectRandom, yubav1.SelectHashed
	hashed := spec(yubav1.PlacementActiveActive, nil, eu, plain)
	hashed.Selector = yubav1.SelectHashed
	for name, test := range map[string]struct {
		spec yubav1.FailoverRecordSpec
		want []string
	}{
		"active-passive by URL: groups by priority": {spec(yubav1.PlacementActivePassive, web, us, eu),
			[]string{"A \"ifurlup('https://www.example.org/health',{{'192.0.2.1'},{'198.51.100.1'}},{selector='all',backupSelector='all'})\""}},
		"every option, none of which becomes code": {all,
			[]string{"A \"ifurlup('https://www.example.org/health?a='..string.char(39)..'b',{{'192.0.2.1'},{'198.51.100.1'}},{selector='random',backupSelector='hashed'," +
				"timeout=1,interval=10,minimumFailures=2,stringmatch='it'..string.char(39)..'s',useragent='yuba'})\""}},
		"active-active by URL": {spec(yubav1.PlacementActiveActive, web, eu, plain),
			[]string{"A \"ifurlup('https://www.example.org/health',{'192.0.2.1','198.51.100.1'},{selector='all',backupSelector='all'})\""}},
		"active-active by port": {spec(yubav1.PlacementActiveActive, tcp, eu, plain),
			[]string{"A \"ifportup(443,{'192.0.2.1','198.51.100.1'},{selector='all',backupSelector='all'})\""}},
		"active-active without check, hashed": {hashed, []string{"A \"pickhashed({'192.0.2.1','198.51.100.1'})\""}},
		"active-active without check":         {spec(yubav1.PlacementActiveActive, nil, eu, plain), []string{"A \"all({'192.0.2.1','198.51.100.1'})\""}},
		"geo without check":                   {spec(yubav1.PlacementGeo, nil, eu, plain), []string{"A \"pickclosest({'192.0.2.1','198.51.100.1'})\""}},
		"geo: the closest one that is up":     {spec(yubav1.PlacementGeo, tcp, eu, plain), []string{"A \"ifportup(443,{'192.0.2.1','198.51.100.1'},{selector='pickclosest',backupSelector='pickclosest'})\""}},
		"weighted without check; 0 is left out": {spec(yubav1.PlacementWeighted, nil, endpoint("eu", "192.0.2.1", "w80"), endpoint("us", "198.51.100.1", "w20"), endpoint("off", "203.0.113.1", "w0")),
			[]string{"A \"pickwhashed({{80,'192.0.2.1'},{20,'198.51.100.1'}})\""}},
		"both families have records of their own": {spec(yubav1.PlacementActiveActive, tcp, endpoint("eu", "192.0.2.1,2001:db8:0::1")),
			[]string{"A \"ifportup(443,{'192.0.2.1'},{selector='all',backupSelector='all'})\"", "AAAA \"ifportup(443,{'2001:db8::1'},{selector='all',backupSelector='all'})\""}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := record.Of(&test.spec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range record.Render(s) {
				got = append(got, r.Content())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	eu := endpoint("eu", "192.0.2.1")
	with := func(change func(*yubav1.FailoverRecordSpec)) yubav1.FailoverRecordSpec {
		s := spec(yubav1.PlacementActivePassive, web, eu)
		change(&s)
		return s
	}
	url := func(u string) yubav1.FailoverRecordSpec {
		return spec(yubav1.PlacementActiveActive, &yubav1.FailoverCheck{HTTP: &yubav1.FailoverHTTPCheck{URL: u}}, eu)
	}
	for says, s := range map[string]yubav1.FailoverRecordSpec{
		"is not a DNS name":                      with(func(s *yubav1.FailoverRecordSpec) { s.Host = "www.example.org\" \"" }),
		"is not a DNS name such":                 with(func(s *yubav1.FailoverRecordSpec) { s.Host = "a..b" }),
		"spec.endpoints is empty":                with(func(s *yubav1.FailoverRecordSpec) { s.Endpoints = nil }),
		"not an IP address":                      spec(yubav1.PlacementActiveActive, web, endpoint("eu", "127.0.0.1'})--")),
		"clients can connect":                    spec(yubav1.PlacementActiveActive, web, endpoint("eu", "169.254.1.1")),
		"also one of endpoint eu":                spec(yubav1.PlacementActiveActive, web, eu, endpoint("us", "192.0.2.1")),
		"needs spec.check":                       with(func(s *yubav1.FailoverRecordSpec) { s.Check = nil }),
		"remove spec.selector":                   with(func(s *yubav1.FailoverRecordSpec) { s.Placement, s.Selector = yubav1.PlacementGeo, yubav1.SelectAll }),
		"pickfirst\" is not a selector":          with(func(s *yubav1.FailoverRecordSpec) { s.Selector = "pickfirst" }),
		"all weights are 0":                      spec(yubav1.PlacementWeighted, web, eu),
		"make two endpoints":                     spec(yubav1.PlacementWeighted, web, endpoint("eu", "192.0.2.1,192.0.2.2", "w1")),
		"instead of each endpoint":               url("http://192.0.2.1/health"),
		"without a user":                         url("http://user:secret@www.example.org/"),
		"such as https://www.example.org/health": url("file:///etc/passwd"),
		"either http with a url":                 spec(yubav1.PlacementActiveActive, &yubav1.FailoverCheck{}, eu),
		"remove spec.whenAllDown": func() yubav1.FailoverRecordSpec {
			s := spec(yubav1.PlacementActivePassive, tcp, eu)
			s.WhenAllDown = yubav1.SelectAll
			return s
		}(),
	} {
		if _, err := record.Of(&s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error with %q, got %v", says, err)
		}
	}
}

// drawn is a valid spec.
func drawn(t *rapid.T) (yubav1.FailoverRecordSpec, record.Spec) {
	s := spec(rapid.SampledFrom([]yubav1.FailoverPlacement{yubav1.PlacementActivePassive, yubav1.PlacementActiveActive, yubav1.PlacementGeo, yubav1.PlacementWeighted}).Draw(t, "placement"),
		rapid.SampledFrom([]*yubav1.FailoverCheck{web, tcp}).Draw(t, "check"))
	for i := range rapid.IntRange(1, 6).Draw(t, "endpoints") {
		e := endpoint(fmt.Sprintf("e%d", i), fmt.Sprintf("192.0.2.%d,2001:db8::%d", i+1, i+1))
		switch s.Placement {
		case yubav1.PlacementActivePassive:
			e.Priority = number(rapid.Int32Range(0, 3).Draw(t, "priority"))
		case yubav1.PlacementWeighted:
			e.Weight = number(rapid.Int32Range(1, 100).Draw(t, "weight"))
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	if s.Placement == yubav1.PlacementActivePassive || s.Placement == yubav1.PlacementActiveActive {
		s.Selector = rapid.SampledFrom([]yubav1.FailoverSelector{"", yubav1.SelectAll, yubav1.SelectRandom, yubav1.SelectHashed}).Draw(t, "selector")
	}
	parsed, err := record.Of(&s)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return s, parsed
}

// The laws of failover: no endpoint that is down is answered while one is up, the lowest priority wins,
// and what answers tell of endpoints is true.
func TestAnswersAreThoseThatAreUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, parsed := drawn(t)
		down, isDown, ups := map[netip.Addr]bool{}, map[string]bool{}, 0
		best := int32(1 << 20)
		for _, e := range s.Endpoints {
			if rapid.Bool().Draw(t, e.Name+" is down") {
				isDown[e.Name] = true
				for _, a := range e.Addresses {
					down[netip.MustParseAddr(a)] = true
				}
				continue
			}
			ups++
			if e.Priority != nil {
				best = min(best, *e.Priority)
			}
		}
		for _, r := range record.Render(parsed) {
			outcomes, err := simulate.Evaluate(r.Code.String(), simulate.World{Down: down})
			if err != nil {
				t.Fatalf("%s: %v", r.Content(), err)
			}
			sum := 0.0
			for _, o := range outcomes {
				sum += o.Share
				checkOutcome(t, s, o, ups, isDown, best)
				for name, is := range record.Infer(parsed, o.Addresses) {
					if is == yubav1.EndpointUp && isDown[name] || is == yubav1.EndpointDown && !isDown[name] {
						t.Fatalf("%v tells that %s is %s", o.Addresses, name, is)
					}
				}
			}
			if sum < 0.999 || sum > 1.001 {
				t.Fatalf("the shares sum up to %f", sum)
			}
		}
	})
}

func checkOutcome(t *rapid.T, s yubav1.FailoverRecordSpec, o simulate.Outcome, ups int, isDown map[string]bool, best int32) {
	if len(o.Addresses) == 0 {
		t.Fatal("nothing is answered")
	}
	answered := 0
	for _, e := range s.Endpoints {
		in := false
		for _, a := range o.Addresses {
			in = in || e.Addresses[0] == a.String() || e.Addresses[1] == a.String()
		}
		if !in {
			continue
		}
		answered++
		if ups > 0 && isDown[e.Name] {
			t.Fatalf("%s is down, and answered", e.Name)
		}
		if ups > 0 && e.Priority != nil && *e.Priority != best {
			t.Fatalf("%s has priority %d, and %d is up", e.Name, *e.Priority, best)
		}
	}
	if s.Placement == yubav1.PlacementActiveActive && (s.Selector == "" || s.Selector == yubav1.SelectAll) && ups > 0 && answered != ups {
		t.Fatalf("%d of %d are answered", answered, ups)
	}
}
