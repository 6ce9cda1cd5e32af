// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/pdnstest"
)

// two are backends at one port of two addresses.
func two(t *testing.T) (eu, us *pdnstest.Backend, port int) {
	t.Helper()
	port = pdnstest.FreePort(t)
	eu, us = &pdnstest.Backend{Address: "127.0.0.11"}, &pdnstest.Backend{Address: "127.0.0.12"}
	eu.Up(t, port)
	us.Up(t, port)
	return eu, us, port
}

func TestANameFailsOverAndBack(t *testing.T) {
	for name, check := range map[string]func(int) *yubav1.FailoverCheck{"HTTP": web, "TCP": tcp} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			eu, us, port := two(t)
			f := w.record("www", "www.example.org", func(s *yubav1.FailoverRecordSpec) {
				s.Placement, s.Endpoints, s.Check = yubav1.PlacementActivePassive, prioritized(s.Endpoints), check(port)
			})
			w.await(f, yubav1.ReasonRecordPublished, "www.example.org answers 127.0.0.11")
			w.tells(yubav1.ReasonRecordPublished, "www.example.org is written, and answers")
			// The server checked both: the answer is not the one of before the first check.
			w.answers("www.example.org", "127.0.0.11", time.Minute)
			eu.Down()
			t.Logf("a resolver saw the failover after %v, with checks every %v", w.answers("www.example.org", "127.0.0.12", 2*pdnstest.CheckInterval), pdnstest.CheckInterval)
			w.await(f, yubav1.ReasonRecordPublished, "answers 127.0.0.12")
			if f.Status.Endpoints[0] != (yubav1.FailoverEndpointStatus{Name: "eu", State: yubav1.EndpointDown}) || f.Status.Endpoints[1].State != yubav1.EndpointUp {
				t.Errorf("the endpoints are %v, want eu down and us up", f.Status.Endpoints)
			}
			w.tells(yubav1.ReasonRecordAnswerChanged, "www.example.org answers 127.0.0.12; before it was 127.0.0.11")
			eu.Up(t, port)
			t.Logf("and back after %v", w.answers("www.example.org", "127.0.0.11", 2*pdnstest.CheckInterval))
			us.Down()
			w.answers("www.example.org", "127.0.0.11", time.Minute)

			if err := w.Delete(w.Context(), f); err != nil {
				t.Fatal(err)
			}
			w.eventually("the object is gone", time.Minute, func() string {
				if err := w.Get(w.Context(), client.ObjectKeyFromObject(f), f); client.IgnoreNotFound(err) != nil || err == nil {
					return "it is there"
				}
				return ""
			})
			for _, kind := range []uint16{dns.TypeA, dns.TypeTXT} {
				for _, name := range []string{"www.example.org", "_yuba.www.example.org"} {
					if is := ask(t, w.pdns, name, kind); is != "NXDOMAIN" {
						t.Errorf("%s answers %s after its deletion", name, is)
					}
				}
			}
		})
	}
}

func TestOnlyOwnRecordsAreChanged(t *testing.T) {
	w := newWorld(t)
	first := w.record("first", "www.example.org", nothing)
	w.await(first, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	if is := ask(t, w.pdns, "_yuba.www.example.org", dns.TypeTXT); !strings.HasPrefix(is, "heritage=yuba,owner=default,resource=failoverrecord/"+w.namespace+"/first,uid=") {
		t.Errorf("the registration is %s", is)
	}
	second := w.record("second", "www.example.org", func(s *yubav1.FailoverRecordSpec) { s.Endpoints = endpoints("other=127.0.0.99") })
	w.await(second, yubav1.ReasonRecordOwned, "failoverrecord/"+w.namespace+"/first")
	w.tells(yubav1.ReasonRecordOwned, "belongs to")

	// Deleting an object that never had the name changes nothing.
	if err := w.Delete(w.Context(), second); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is gone", time.Minute, func() string {
		if w.Get(w.Context(), client.ObjectKeyFromObject(second), second) == nil {
			return "it is there"
		}
		return ""
	})
	w.answers("www.example.org", "127.0.0.11,127.0.0.12", time.Second)

	// A record of somebody who knows nothing of Yuba stays as it is.
	w.put("mail.example.org", "A", "192.0.2.25")
	mail := w.record("mail", "mail.example.org", nothing)
	w.await(mail, yubav1.ReasonRecordOwned, "type A that Yuba did not write (192.0.2.25)")
	w.answers("mail.example.org", "192.0.2.25", time.Second)

	// Somebody changes ours: it is written again, without a change of the spec.
	w.put("www.example.org", "LUA", "A \"'192.0.2.66'\"")
	w.answers("www.example.org", "192.0.2.66", time.Second)
	w.answers("www.example.org", "127.0.0.11,127.0.0.12", time.Minute)

	// A suspended record stays when its object is deleted.
	w.change(first, func(s *yubav1.FailoverRecordSpec) { s.Suspend = true })
	w.await(first, yubav1.ReasonRecordSuspended, "stays")
	if err := w.Delete(w.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.eventually("it is gone", time.Minute, func() string {
		if w.Get(w.Context(), client.ObjectKeyFromObject(first), first) == nil {
			return "it is there"
		}
		return ""
	})
	w.answers("www.example.org", "127.0.0.11,127.0.0.12", time.Second)
}

func TestWildcardsAndZones(t *testing.T) {
	w := newWorld(t)
	wild := w.record("wild", "*.shop.example.org", nothing)
	w.await(wild, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	w.answers("any.shop.example.org", "127.0.0.11,127.0.0.12", time.Second)
	below := w.record("below", "www.sub.example.org", nothing)
	w.await(below, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	if below.Status.Zone != "sub.example.org" || below.Status.ServerVersion == "" {
		t.Errorf("the zone is %q on version %q, want the longest one", below.Status.Zone, below.Status.ServerVersion)
	}
	both := w.record("both", "both.example.org", func(s *yubav1.FailoverRecordSpec) { s.Endpoints = endpoints("eu=127.0.0.11,::1", "us=127.0.0.12") })
	w.await(both, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12,::1")
	if len(both.Status.Warnings) != 1 || both.Status.Warnings[0] != "endpoint us has no IPv6 address: it is not in the answers for clients that use IPv6" {
		t.Errorf("the warnings are %q", both.Status.Warnings)
	}
}

func TestWhatDoesNotWorkIsSaid(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		reason, says string
		change       func(*yubav1.FailoverRecordSpec)
		host         string
	}{
		"no-zone":           {yubav1.ReasonRecordNoZone, "no zone for www.example.com", nothing, "www.example.com"},
		"wrong-zone":        {yubav1.ReasonRecordInvalid, "is not in the zone", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.Zone = "example.com" }, "a.example.org"},
		"no-secret":         {yubav1.ReasonRecordInvalid, "Secret none of", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.SecretRef.Name = "none" }, "b.example.org"},
		"no-server":         {yubav1.ReasonRecordUnreachable, "connection refused", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.URL = "http://127.0.0.1:1" }, "c.example.org"},
		"no-dns":            {yubav1.ReasonRecordUnverified, "is written, but cannot be verified", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.Nameserver = "127.0.0.1:1" }, "d.example.org"},
		"no-places":         {yubav1.ReasonRecordInvalid, "needs the geoip backend", func(s *yubav1.FailoverRecordSpec) { s.Placement = yubav1.PlacementGeo }, "e.example.org"},
		"metadata":          {yubav1.ReasonRecordUnreachable, "refused", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.URL = "http://169.254.169.254" }, "f.example.org"},
		"one-address-twice": {yubav1.ReasonRecordInvalid, "also one of endpoint eu", func(s *yubav1.FailoverRecordSpec) { s.Endpoints = endpoints("eu=127.0.0.11", "us=127.0.0.11") }, "g.example.org"},
	} {
		f := w.record(name, test.host, test.change)
		w.await(f, test.reason, test.says)
		w.tells(test.reason, test.says)
	}

	f := w.record("wrong-key", "www.example.org", nothing)
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11")
	w.setKey("wrong")
	w.await(f, yubav1.ReasonRecordUnreachable, "refuses the API key")
	w.answers("www.example.org", "127.0.0.11,127.0.0.12", time.Second)
	w.setKey(w.pdns.Key)
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11")

	// PowerDNS without LUA records takes them, and answers nothing.
	without := newWorld(t, "enable-lua-records=no")
	without.await(without.record("www", "www.example.org", nothing), yubav1.ReasonRecordUnverified, "enable-lua-records=yes")
}
