// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/decide"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

func TestAClaimIsReservedCommittedAndReleased(t *testing.T) {
	w := newWorld(t)
	p := w.pool("apps", asIs)
	w.awaits(p, yubav1.ReasonPoolReady, "Names below apps.example.org can be claimed, in zone example.org")
	c := w.claim("apps", "acme")
	w.awaits(c, yubav1.ReasonClaimReserved, "acme.apps.example.org is reserved until ")
	if is := ask(t, w.pdns, "_yuba.acme.apps.example.org", dns.TypeTXT); !strings.Contains(is, "uid="+string(c.UID)+",until=") {
		t.Errorf("the registration is %s", is)
	}
	if c.Status.Phase != yubav1.SubdomainReserved || c.Status.ExpiresAt == nil || w.has("acme.apps.example.org", "A") != "" {
		t.Errorf("%+v", c.Status)
	}

	// Another claim does not get it.
	second := w.claim("apps", "acme", "192.0.2.99")
	w.awaits(second, yubav1.ReasonRecordOwned, "acme.apps.example.org belongs to heritage=yuba,owner=default,resource=subdomainclaim/"+w.namespace+"/"+c.Name)
	w.tells(yubav1.ReasonRecordOwned, "acme.apps.example.org belongs to")

	w.becomes(c, "192.0.2.1", "2001:db8::1")
	w.awaits(c, yubav1.ReasonClaimCommitted, "lead to 192.0.2.1,2001:db8::1")
	w.leads("acme.apps.example.org", "192.0.2.1")
	if is := ask(t, w.pdns, "console.acme.apps.example.org", dns.TypeAAAA); is != "2001:db8::1" {
		t.Error(is)
	}
	w.becomes(c, "192.0.2.2")
	w.awaits(c, yubav1.ReasonClaimCommitted, "lead to 192.0.2.2")
	w.leads("acme.apps.example.org", "192.0.2.2")
	if is := w.has("console.acme.apps.example.org", "AAAA"); is != "" {
		t.Errorf("the IPv6 address stays: %s", is)
	}
	w.tells(yubav1.ReasonClaimAddressesChanged, "leads to 192.0.2.2; before it was 192.0.2.1,2001:db8::1")

	// A pool in use stays. Deletion removes the claim's records, and no others.
	if err := w.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.awaits(p, yubav1.ReasonPoolInUse, "there are 2")
	w.write("acme.apps.example.org", "TXT", `"v=spf1 -all"`)
	w.write("db.acme.apps.example.org", "A", "192.0.2.77")
	w.write("console.acme.apps.example.org", "AAAA", "2001:db8::7")
	w.remove(second)
	w.leads("acme.apps.example.org", "192.0.2.2")
	w.remove(c)
	for name, want := range map[string]string{"acme.apps.example.org A": "", "_yuba.acme.apps.example.org TXT": "", "harbor.acme.apps.example.org A": "", "*.acme.apps.example.org A": "",
		"acme.apps.example.org TXT": `"v=spf1 -all"`, "db.acme.apps.example.org A": "192.0.2.77", "console.acme.apps.example.org AAAA": "2001:db8::7"} {
		host, kind, _ := strings.Cut(name, " ")
		if is := w.has(host, kind); is != want {
			t.Errorf("%s is %q", name, is)
		}
	}
	w.eventually("the pool is gone", time.Minute, func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(p), p); err == nil {
			return "it is there"
		}
		return ""
	})
}

func TestReservationsExpire(t *testing.T) {
	w := newWorld(t)
	w.pool("apps", func(s *yubav1.SubdomainPoolSpec) { s.ReservationTTL.Duration = 5 * time.Second })
	c := w.claim("apps", "acme")
	w.awaits(c, yubav1.ReasonClaimReserved, "is reserved until")
	w.awaits(c, yubav1.ReasonClaimExpired, "The reservation of acme.apps.example.org ended")
	w.nothingOf("acme.apps.example.org")
	w.tells(yubav1.ReasonClaimExpired, "ended")
	// Renewed on request.
	before := c.DeepCopy()
	c.Annotations = map[string]string{infrav1.AnnotationReconcile: "again"}
	if err := w.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.awaits(c, yubav1.ReasonClaimReserved, "is reserved until")
	w.awaits(c, yubav1.ReasonClaimExpired, "ended")
	second := w.claim("apps", "acme", "192.0.2.9")
	w.awaits(second, yubav1.ReasonClaimCommitted, "192.0.2.9")
	w.becomes(c, "192.0.2.1")
	w.awaits(c, yubav1.ReasonRecordOwned, "belongs to")
	w.leads("acme.apps.example.org", "192.0.2.9")
	w.remove(second)
	w.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.1")
}

// Two Yuba servers with two replicas each claim the same names at the same time.
func TestTwoServersNeverShareAName(t *testing.T) {
	w := newWorld(t)
	other := beside(t, w)
	w.awaits(w.pool("apps", asIs), yubav1.ReasonPoolReady, "")
	other.awaits(other.pool("apps", func(s *yubav1.SubdomainPoolSpec) { s.PowerDNS.OwnerID = "other" }), yubav1.ReasonPoolReady, "")
	type pair [2]*yubav1.SubdomainClaim
	pairs := map[string]pair{}
	for _, letter := range "abcdefghjkmp" { // i and l look alike
		name := fmt.Sprintf("team-%c", letter)
		pairs[name] = pair{w.claim("apps", name, "192.0.2.1"), other.claim("apps", name, "192.0.2.2")}
	}
	for name, both := range pairs {
		w.eventually("one has "+name+", and the other not", time.Minute, func() string {
			reasons := ""
			for _, c := range both {
				if err := w.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
					return err.Error()
				}
				reasons += conditions.Of(c, infrav1.ConditionReady).Reason + " "
			}
			if reasons != "Committed NameTaken " && reasons != "NameTaken Committed " {
				return reasons
			}
			return ""
		})
		winner := both[0]
		if both[1].Status.Phase == yubav1.SubdomainCommitted {
			winner = both[1]
		}
		if is := w.has("_yuba."+name+".apps.example.org", "TXT"); !strings.Contains(is, string(winner.UID)) {
			t.Errorf("%s is registered by %s", name, is)
		}
		w.leads(name+".apps.example.org", winner.Spec.Addresses[0])
	}
	// A replica may still be about to withdraw its own. Nobody counts a bid as stale that early.
	w.eventually("no bid is left", decide.BidAge/2, func() string {
		below, err := w.api().Below(t.Context(), "apps.example.org")
		if err != nil {
			return err.Error()
		}
		for _, set := range below {
			if strings.Contains(set.Name, "_yuba-bid") {
				return fmt.Sprintf("%+v", set)
			}
		}
		return ""
	})
}

func TestNamesThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.pool("apps", func(s *yubav1.SubdomainPoolSpec) { s.Reserved, s.Blocked = []string{"bank"}, []string{"paypal"} })
	w.write("used.apps.example.org", "CNAME", "www.example.org.")
	w.write("db.below.apps.example.org", "A", "192.0.2.5")
	w.awaits(w.claim("apps", "cloud"), yubav1.ReasonClaimReserved, "")
	for name, want := range map[string][2]string{
		"www":     {yubav1.ReasonClaimReservedName, "is reserved"},
		"8ank":    {yubav1.ReasonClaimName, "RFC 1035"},
		"adm1n":   {yubav1.ReasonClaimReservedName, "looks like admin"},
		"paypa1":  {yubav1.ReasonClaimReservedName, "the pool blocks"},
		"doud":    {yubav1.ReasonClaimReservedName, "looks like one that is claimed"},
		"a.b":     {yubav1.ReasonClaimName, "is not valid"},
		"раураl":  {yubav1.ReasonClaimName, "the pool allows ASCII"},
		"used":    {yubav1.ReasonRecordOwned, "used.apps.example.org of type CNAME"},
		"below":   {yubav1.ReasonRecordOwned, "db.below.apps.example.org of type A"},
		"a\x1b[m": {yubav1.ReasonClaimName, `"a\x1b[m"`},
	} {
		w.awaits(w.claim("apps", name, "192.0.2.1"), want[0], want[1])
	}
	for address, says := range map[string]string{"300.1.1.1": "not an IP address", "0.0.0.0": "not the address of a server", "fe80::1": "not the address", "224.0.0.1": "not the address"} {
		w.awaits(w.claim("apps", "fine", address), yubav1.ReasonClaimAddresses, says)
	}
	// A pool of another namespace.
	other := beside(t, w)
	c := &yubav1.SubdomainClaim{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: yubav1.SubdomainClaimSpec{Name: "theirs", Addresses: []string{"192.0.2.3"}}}
	c.Spec.PoolRef.Namespace, c.Spec.PoolRef.Name = w.namespace, "apps"
	other.create(c)
	other.awaits(c, yubav1.ReasonClaimPool, "does not exist, or its spec.allowedNamespaces does not name")
	var p yubav1.SubdomainPool
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "apps"}, &p); err != nil {
		t.Fatal(err)
	}
	before := p.DeepCopy()
	p.Spec.AllowedNamespaces = []string{other.namespace}
	if err := w.Patch(t.Context(), &p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	other.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.3")
}

func TestAddressesOfAStack(t *testing.T) {
	w := newWorld(t)
	w.pool("apps", asIs)
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: "network"}, Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour},
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "none"}}}
	c := &yubav1.SubdomainClaim{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: yubav1.SubdomainClaimSpec{Name: "acme", AddressesFrom: &yubav1.StackOutput{Stack: "network", Output: "lb"}}}
	c.Spec.PoolRef.Name = "apps"
	w.create(c)
	w.awaits(c, yubav1.ReasonClaimReserved, "the stack network does not exist")
	w.create(stack)
	w.awaits(c, yubav1.ReasonClaimReserved, "set spec.writeOutputsToSecret")
	change := func(how func(*infrav1.TerraformSpec)) {
		t.Helper()
		before := stack.DeepCopy()
		how(&stack.Spec)
		if err := w.Patch(t.Context(), stack, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	change(func(s *infrav1.TerraformSpec) {
		s.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "network-outputs", Outputs: []string{"lb:address"}}
	})
	w.awaits(c, yubav1.ReasonClaimReserved, "is not applied yet")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "network-outputs"}, StringData: map[string]string{"address": `["192.0.2.1","192.0.2.2"]`}}
	w.create(secret)
	change(func(s *infrav1.TerraformSpec) { s.Interval.Duration += time.Minute })
	w.awaits(c, yubav1.ReasonClaimCommitted, "lead to 192.0.2.1,192.0.2.2")
	// The stack is gone: the name keeps its addresses.
	if err := w.Delete(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	w.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.1,192.0.2.2, which were its last addresses: the stack network does not exist")
	w.leads("acme.apps.example.org", "192.0.2.1,192.0.2.2")
}
