// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// six are the records of a claim that the pool does not change.
var six = []string{"", "any-other.", "console.", "api.", "gitea.", "harbor."}

// pool creates a pool of apps.example.org on the world's PowerDNS.
func (w *world) pool(name string, change func(*yubav1.SubdomainPoolSpec)) *yubav1.SubdomainPool {
	w.Helper()
	p := &yubav1.SubdomainPool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: yubav1.SubdomainPoolSpec{Domain: "apps.example.org", TTL: 5,
		Interval: metav1.Duration{Duration: 5 * time.Second}, PowerDNS: &yubav1.PowerDNSServer{URL: w.pdns.URL, Nameserver: w.pdns.Nameserver}}}
	p.Spec.PowerDNS.SecretRef.Name = "pdns"
	change(&p.Spec)
	w.create(p)
	return p
}

func asIs(*yubav1.SubdomainPoolSpec) {}

// claim creates a claim of a pool of its namespace.
func (w *world) claim(pool, name string, addresses ...string) *yubav1.SubdomainClaim {
	w.Helper()
	c := &yubav1.SubdomainClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "claim-"}, Spec: yubav1.SubdomainClaimSpec{Name: name, Addresses: addresses}}
	c.Spec.PoolRef.Name = pool
	w.create(c)
	return c
}

// awaits waits for the reason and a part of the message of a claim or a pool.
func (w *world) awaits(o interface {
	client.Object
	conditions.Object
}, reason, says string) {
	w.Helper()
	w.eventually(o.GetName()+" is "+reason+": "+says, time.Minute, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		if c := conditions.Of(o, infrav1.ConditionReady); c.Reason != reason || !strings.Contains(c.Message, says) {
			below, _ := w.api().Below(w.Context(), "apps.example.org") //nolint:errcheck // for the message
			return fmt.Sprintf("%s: %s; the server has %+v", c.Reason, c.Message, below)
		}
		return ""
	})
}

// becomes changes a claim's addresses.
func (w *world) becomes(c *yubav1.SubdomainClaim, addresses ...string) {
	w.Helper()
	before := c.DeepCopy()
	c.Spec.Addresses = addresses
	if err := w.Patch(w.Context(), c, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// api is a client of the PowerDNS server, for what others do there.
func (w *world) api() *powerdns.Client {
	return &powerdns.Client{URL: w.pdns.URL, Key: w.pdns.Key, HTTP: http.DefaultClient}
}

// write writes a record as somebody else; without content, it removes it. PowerDNS refuses it with status 500 while
// another client writes to its database.
func (w *world) write(name, kind string, contents ...string) {
	w.Helper()
	set := powerdns.RRset{Name: name + ".", Type: kind, TTL: 60}
	for _, content := range contents {
		set.Records = append(set.Records, powerdns.Record{Content: content})
	}
	w.eventually("somebody else writes "+name, time.Minute, func() string {
		if err := w.api().Change(w.Context(), "example.org", []powerdns.RRset{set}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// has is what the server has for a name, without a cache.
func (w *world) has(name, kind string) string {
	w.Helper()
	sets, err := w.api().RRsets(w.Context(), "example.org", name)
	if err != nil {
		w.Fatal(err)
	}
	for _, set := range sets {
		if set.Type == kind {
			return set.Records[0].Content
		}
	}
	return ""
}

// leads checks that all six names lead to an address.
func (w *world) leads(domain, address string) {
	w.Helper()
	for _, prefix := range six {
		if is := ask(w.T, w.pdns, prefix+domain, dns.TypeA); is != address {
			w.Errorf("%s%s leads to %s", prefix, domain, is)
		}
	}
}

// nothingOf checks that nothing of a claim is left.
func (w *world) nothingOf(domain string) {
	w.Helper()
	w.eventually("nothing is left of "+domain, time.Minute, func() string {
		below, err := w.api().Below(w.Context(), domain)
		if err != nil {
			return err.Error()
		}
		for _, set := range below {
			return set.Name + " " + set.Type
		}
		return w.has(domain, "A")
	})
}

// remove deletes an object, and waits until it is gone.
func (w *world) remove(o client.Object) {
	w.Helper()
	if err := w.Delete(w.Context(), o); err != nil {
		w.Fatal(err)
	}
	w.eventually(o.GetName()+" is gone", time.Minute, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(o), o); err == nil {
			return "it is there"
		}
		return ""
	})
}

// beside is another namespace with the credentials of the same PowerDNS: as another Yuba server has its own.
func beside(t *testing.T, w *world) *world {
	t.Helper()
	other := &world{t, apitest.Client(t), apitest.Namespace(t), w.pdns}
	other.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pdns"}, StringData: map[string]string{"api-key": w.pdns.Key}})
	return other
}
