// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// A namespace keeps a name without addresses for a limited time, also if it deletes its claim and creates another one.
func TestAClaimCreatedAnewGoesOnCounting(t *testing.T) {
	w := newWorld(t)
	p := w.pool("apps", func(s *yubav1.SubdomainPoolSpec) { s.MaxRenewals = 2 })
	w.awaits(p, yubav1.ReasonPoolReady, "")
	for n := range 3 {
		c := w.claim("apps", "acme")
		w.awaits(c, yubav1.ReasonClaimReserved, "is reserved until")
		if c.Status.Renewals != int32(n) {
			t.Errorf("claim %d has %d renewals", n, c.Status.Renewals)
		}
		w.remove(c)
	}
	c := w.claim("apps", "acme")
	w.awaits(c, yubav1.ReasonClaimExpired, "acme.apps.example.org is not reserved, and has no addresses: ")
	w.awaits(c, yubav1.ReasonClaimExpired, "The namespace has reserved it 3 times without addresses, and the pool allows no more (spec.maxRenewals). After ")
	w.nothingOf("acme.apps.example.org")
	// Another namespace can have it, and addresses end the count.
	w.becomes(c, "192.0.2.1")
	w.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.1")
	w.remove(c)
	w.awaits(w.claim("apps", "acme"), yubav1.ReasonClaimReserved, "is reserved until")
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		t.Fatal(err)
	}
	if r := p.Status.Reservations; len(r) != 1 || r[0].Domain != "acme.apps.example.org" || r[0].Renewals != 0 || r[0].Namespace != w.namespace {
		t.Errorf("the pool remembers %+v", r)
	}
}

func TestAClaimsOwnRenewalsEnd(t *testing.T) {
	w := newWorld(t)
	w.pool("apps", func(s *yubav1.SubdomainPoolSpec) { s.MaxRenewals = 1 })
	c := w.claim("apps", "acme")
	w.awaits(c, yubav1.ReasonClaimReserved, "is reserved until")
	renew := func(request string) {
		before := c.DeepCopy()
		c.Annotations = map[string]string{infrav1.AnnotationReconcile: request}
		if err := w.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		w.eventually("the request is handled", time.Minute, func() string {
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
				return err.Error()
			}
			if c.Status.LastHandledReconcileAt != request {
				return "the last one is " + c.Status.LastHandledReconcileAt
			}
			return ""
		})
	}
	first := c.Status.ExpiresAt.Time
	time.Sleep(time.Until(first.Add(-10*time.Minute + time.Second))) // times of the API have whole seconds
	renew("one")
	last := c.Status.ExpiresAt.Time
	if !last.After(first) {
		t.Errorf("a renewal ends at %v, the reservation at %v: %+v", last, first, c.Status)
	}
	renew("two")
	if is := c.Status.ExpiresAt.Time; !is.Equal(last) || c.Status.Renewals != 1 {
		t.Errorf("a second renewal ends at %v after %d renewals, the first one at %v", is, c.Status.Renewals, last)
	}
}

// What a record or a claim is registered by cannot change: it would be left behind.
func TestFieldsThatCannotChange(t *testing.T) {
	w := newWorld(t)
	pool := w.pool("apps", asIs)
	powerDNS := pool.Spec.PowerDNS.DeepCopy()
	manual := w.pool("manual", func(s *yubav1.SubdomainPoolSpec) {
		s.Domain, s.PowerDNS, s.Manual = "byhand.example.org", nil, &yubav1.ManualDNS{}
	})
	claim := w.claim("apps", "acme", "192.0.2.1")
	record := w.record("www", "www.example.org", nothing)
	for field, test := range map[string]struct {
		object client.Object
		change func()
	}{
		"SubdomainPool: the domain cannot change":                                       {pool, func() { pool.Spec.Domain = "other.example.org" }},
		"SubdomainPool: powerDNS.url, ":                                                 {pool, func() { pool.Spec.PowerDNS.URL = "http://127.0.0.1:1" }},
		"SubdomainPool: powerDNS.url, powerDNS.zone and powerDNS.ownerID cannot change": {pool, func() { pool.Spec.PowerDNS.OwnerID = "other" }},
		"SubdomainPool: powerDNS.url, powerDNS.zone":                                    {pool, func() { pool.Spec.PowerDNS.Zone = "sub.example.org" }},
		"SubdomainPool: nor powerDNS to manual":                                         {pool, func() { pool.Spec.PowerDNS, pool.Spec.Manual = nil, &yubav1.ManualDNS{} }},
		"SubdomainPool: claims would lose their records":                                {manual, func() { manual.Spec.Manual, manual.Spec.PowerDNS = nil, powerDNS }},
		"SubdomainClaim: the name cannot change":                                        {claim, func() { claim.Spec.Name = "other" }},
		"SubdomainClaim: the pool cannot change":                                        {claim, func() { claim.Spec.PoolRef.Name = "manual" }},
		"FailoverRecord: the name cannot change":                                        {record, func() { record.Spec.Host = "other.example.org" }},
	} {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(test.object), test.object); err != nil {
			t.Fatal(err)
		}
		before := test.object.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy
		test.change()
		_, says, _ := strings.Cut(field, ": ")
		if err := w.Patch(t.Context(), test.object, client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", field, err)
		}
	}
	// Fields beside these can change.
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
		t.Fatal(err)
	}
	before := pool.DeepCopy()
	pool.Spec.PowerDNS.Nameserver, pool.Spec.Reserved, pool.Spec.Interval = "", []string{"bank"}, metav1.Duration{Duration: time.Minute}
	if err := w.Patch(t.Context(), pool, client.MergeFrom(before)); err != nil {
		t.Error(err)
	}
}

// How long a name takes from its claim to an answer of the DNS server. The server's own caches are off.
func TestTimeFromAClaimToAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.awaits(w.pool("apps", asIs), yubav1.ReasonPoolReady, "")
	var sum, longest time.Duration
	const names = 10
	for n := range names {
		began := time.Now()
		name := fmt.Sprintf("team-%c%c", 'a'+n, 'a'+n)
		w.claim("apps", name, "192.0.2.1")
		w.answers(name+".apps.example.org", "192.0.2.1", time.Minute)
		took := time.Since(began)
		sum, longest = sum+took, max(longest, took)
	}
	t.Logf("from a claim to an answer: %v on average, %v at most, of %d", (sum / names).Round(time.Millisecond), longest.Round(time.Millisecond), names)
	if mean := sum / names; mean > 10*time.Second {
		t.Errorf("a claim takes %v", mean)
	}
}
