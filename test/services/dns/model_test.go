// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/dns/simulate"
	"github.com/yuba-dev/yuba/internal/testkit/pdnstest"
)

// put writes a record as somebody who knows nothing of Yuba.
func (w *world) put(host, kind, content string) {
	w.Helper()
	put(w.T, w.pdns, host, kind, content)
}

func put(t *testing.T, s *pdnstest.Server, host, kind string, contents ...string) {
	t.Helper()
	set := powerdns.RRset{Name: host + ".", Type: kind, TTL: 5}
	for _, c := range contents {
		set.Records = append(set.Records, powerdns.Record{Content: c})
	}
	c := &powerdns.Client{URL: s.URL, Key: s.Key, HTTP: &http.Client{Timeout: 10 * time.Second}}
	if err := c.Change(context.Background(), "example.org", []powerdns.RRset{set}); err != nil {
		t.Fatal(err)
	}
}

// setKey changes the API key in the Secret.
func (w *world) setKey(key string) {
	w.Helper()
	var secret corev1.Secret
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "pdns"}, &secret); err != nil {
		w.Fatal(err)
	}
	secret.Data = map[string][]byte{"api-key": []byte(key)}
	if err := w.Update(w.Context(), &secret); err != nil {
		w.Fatal(err)
	}
}

// specs are records of all placements and checks, with 127.0.0.11 as primary.
func specs(port int) map[string]yubav1.FailoverRecordSpec {
	eu, us := endpoints("eu=127.0.0.11", "us=127.0.0.12"), int32(20)
	eighty := int32(80)
	weighted := endpoints("eu=127.0.0.11", "us=127.0.0.12")
	weighted[0].Weight, weighted[1].Weight = &eighty, &us
	all := map[string]yubav1.FailoverRecordSpec{}
	for check, c := range map[string]*yubav1.FailoverCheck{"none": nil, "http": web(port), "tcp": tcp(port)} {
		for _, selector := range []yubav1.FailoverSelector{yubav1.SelectAll, yubav1.SelectRandom, yubav1.SelectHashed} {
			name := check + "-" + strings.ToLower(string(selector))
			all["active-"+name] = yubav1.FailoverRecordSpec{Placement: yubav1.PlacementActiveActive, Check: c, Selector: selector, Endpoints: eu}
			if c != nil {
				all["passive-"+name] = yubav1.FailoverRecordSpec{Placement: yubav1.PlacementActivePassive, Check: c, Selector: selector, Endpoints: prioritized(endpoints("eu=127.0.0.11", "us=127.0.0.12"))}
			}
			if selector != yubav1.SelectAll {
				all["weighted-"+name] = yubav1.FailoverRecordSpec{Placement: yubav1.PlacementWeighted, Check: c, Selector: selector, Endpoints: weighted}
			}
		}
		all["geo-"+check] = yubav1.FailoverRecordSpec{Placement: yubav1.PlacementGeo, Check: c, Endpoints: eu}
	}
	return all
}

// Every record answers on the real server what the model says it would.
func TestTheModelAnswersAsPowerDNSDoes(t *testing.T) {
	s := pdnstest.Start(t, []string{"example.org"})
	eu, us, port := two(t)
	codes := map[string]string{}
	for name, spec := range specs(port) {
		spec.Host = name + ".example.org"
		parsed, err := record.Of(&spec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := record.Render(parsed)[0]
		put(t, s, spec.Host, "LUA", r.Content())
		codes[spec.Host] = r.Code.String()
	}
	compare := func(what string, down ...string) {
		w := simulate.World{Down: map[netip.Addr]bool{}}
		for _, d := range down {
			w.Down[netip.MustParseAddr(d)] = true
		}
		for host, code := range codes {
			outcomes, err := simulate.Evaluate(code, w)
			if err != nil {
				t.Fatalf("%s: %v", host, err)
			}
			possible := map[string]bool{}
			for _, o := range outcomes {
				possible[strings.Trim(strings.ReplaceAll(fmt.Sprint(o.Addresses), " ", ","), "[]")] = true
			}
			// Wait until the checks are done; then the answers stay possible.
			deadline := time.Now().Add(30 * time.Second)
			for good := 0; good < 20; {
				is := ask(t, s, host, dns.TypeA)
				if possible[is] {
					good++
					continue
				}
				if good = 0; time.Now().After(deadline) {
					t.Errorf("%s: %s answers %s, and the model says %v\n%s", what, host, is, possible, code)
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	compare("all are up")
	eu.Down()
	compare("eu is down", "127.0.0.11")
	us.Down()
	compare("all are down", "127.0.0.11", "127.0.0.12")
	eu.Up(t, port)
	compare("us is down", "127.0.0.12")
	if log := s.Log(); strings.Contains(log, "unknown selector") {
		t.Error(log)
	}
}

func TestTextsOfChecksReachTheServerUnchanged(t *testing.T) {
	s := pdnstest.Start(t, []string{"example.org"})
	_, us, port := two(t)
	us.Down()
	for contains, want := range map[string]string{
		"it's www.example.org": "127.0.0.11", "nothing like it": "127.0.0.11,127.0.0.12", "'..os.exit()..'": "127.0.0.11,127.0.0.12", "\"\\\n": "127.0.0.11,127.0.0.12",
		"it's " + strings.Repeat("'\"", 100): "127.0.0.11,127.0.0.12"} {
		spec := yubav1.FailoverRecordSpec{Host: "text.example.org", Placement: yubav1.PlacementActiveActive, Check: web(port), Endpoints: endpoints("eu=127.0.0.11", "us=127.0.0.12")}
		spec.Check.HTTP.Contains = contains
		parsed, err := record.Of(&spec)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, spec.Host, "LUA", record.Render(parsed)[0].Content())
		deadline := time.Now().Add(30 * time.Second)
		for good := 0; good < 5; time.Sleep(pdnstest.CheckInterval / 4) {
			is := ask(t, s, spec.Host, dns.TypeA)
			if good++; is != want {
				good = 0
			}
			if time.Now().After(deadline) {
				t.Fatalf("with %q, it answers %s, want %s", contains, is, want)
			}
		}
	}
}

// The largest records that are accepted run within PowerDNS' limit of instructions.
func TestTheLargestRecordsAnswer(t *testing.T) {
	s := pdnstest.Start(t, []string{"example.org"})
	port := pdnstest.FreePort(t)
	for _, placement := range []yubav1.FailoverPlacement{yubav1.PlacementWeighted, yubav1.PlacementActivePassive} {
		for check, c := range map[string]*yubav1.FailoverCheck{"http": web(port), "tcp": tcp(port)} {
			spec := yubav1.FailoverRecordSpec{Host: "large.example.org", Placement: placement, Check: c}
			for i := range 32 {
				e := endpoints(fmt.Sprintf("e%d=127.1.0.%d", i, i+1))[0]
				n := int32(i + 1)
				if placement == yubav1.PlacementWeighted {
					e.Weight = &n
				} else {
					e.Priority = &n
				}
				spec.Endpoints = append(spec.Endpoints, e)
			}
			parsed, err := record.Of(&spec)
			if err != nil {
				t.Fatal(err)
			}
			r := record.Render(parsed)[0]
			if _, err := simulate.Evaluate(r.Code.String(), simulate.World{}); err != nil {
				t.Errorf("%s by %s: %v", placement, check, err)
			}
			put(t, s, spec.Host, "LUA", r.Content())
			if is := ask(t, s, spec.Host, dns.TypeA); !strings.HasPrefix(is, "127.1.0.") {
				t.Errorf("%s by %s answers %s\n%s", placement, check, is, s.Log())
			}
		}
	}
}
