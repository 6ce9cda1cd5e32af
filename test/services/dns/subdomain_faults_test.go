// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// front is a proxy before the PowerDNS that loses requests, or their answers.
type front struct {
	// Lost counts the writes that are not passed on, and Mute those whose answer is lost: 1 is the next one.
	lost, mute, writes atomic.Int32
	// refuses says that each write is refused.
	refuses atomic.Bool
	url     string
}

func newFront(t *testing.T, w *world) *front {
	t.Helper()
	target, err := url.Parse(w.pdns.URL)
	if err != nil {
		t.Fatal(err)
	}
	f, proxy := &front{}, httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch {
			proxy.ServeHTTP(rw, r)
			return
		}
		f.writes.Add(1)
		if f.refuses.Load() {
			http.Error(rw, `{"error": "out of disk space"}`, http.StatusInternalServerError)
			return
		}
		if f.lost.Add(-1) == 0 {
			panic(http.ErrAbortHandler)
		}
		if f.mute.Add(-1) == 0 {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// The server, or Yuba, ends at each point between the first write and the last.
func TestAServerThatFailsMidWay(t *testing.T) {
	w := newWorld(t)
	f := newFront(t, w)
	p := w.pool("apps", func(s *yubav1.SubdomainPoolSpec) { s.PowerDNS.URL = f.url })
	w.awaits(p, yubav1.ReasonPoolReady, "")
	for name, faults := range map[string][2]int32{"nobid": {1, 0}, "bidunheard": {0, 1}, "nowrite": {2, 0}, "writeunheard": {0, 2}} {
		f.lost.Store(faults[0])
		f.mute.Store(faults[1])
		c := w.claim("apps", name, "192.0.2.1")
		w.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.1")
		if f.lost.Load() > 0 || f.mute.Load() > 0 {
			t.Errorf("%s: the fault did not happen", name)
		}
		w.leads(name+".apps.example.org", "192.0.2.1")
		w.remove(c)
		w.nothingOf(name + ".apps.example.org")
	}
}

func TestDriftIsRepairedAndSaid(t *testing.T) {
	w := newWorld(t)
	w.pool("apps", asIs)
	c := w.claim("apps", "acme", "192.0.2.1")
	w.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.1")
	w.write("console.acme.apps.example.org", "A", "203.0.113.66")
	w.write("gitea.acme.apps.example.org", "A")
	w.eventually("the records are repaired", time.Minute, func() string {
		if a, b := w.has("console.acme.apps.example.org", "A"), w.has("gitea.acme.apps.example.org", "A"); a != "192.0.2.1" || b != "192.0.2.1" {
			return a + " " + b
		}
		return ""
	})
	w.tells(yubav1.ReasonClaimRepaired, "console.acme.apps.example.org A was 203.0.113.66 with TTL 60")
	// Each repair is said with its records, however soon it follows another one.
	for _, address := range []string{"203.0.113.67", "203.0.113.68", "203.0.113.69"} {
		w.eventually("the repair of "+address+" is told", time.Minute, func() string {
			if w.told(yubav1.ReasonClaimRepaired, "api.acme.apps.example.org A was "+address+" with TTL 60") {
				return ""
			}
			if is := w.has("api.acme.apps.example.org", "A"); is == "192.0.2.1" { // the other replica, of the repair before, may have written over it
				w.write("api.acme.apps.example.org", "A", address)
			}
			return "it is not"
		})
	}
	// A name that is taken at the same moment by two replicas is no repair.
	if w.told(yubav1.ReasonClaimRepaired, "harbor.acme.apps.example.org") {
		t.Error("an event says that somebody changed a record that nobody has changed")
	}

	// The registration is gone: the claim takes its name again, and keeps its records meanwhile.
	w.write("_yuba.acme.apps.example.org", "TXT")
	w.eventually("the registration is back", time.Minute, func() string {
		if is := w.has("_yuba.acme.apps.example.org", "TXT"); !strings.Contains(is, string(c.UID)) {
			return is
		}
		return ""
	})
	// Somebody takes the name away: Yuba says so, and does not fight.
	theirs := `"heritage=external-dns,owner=x"`
	w.write("_yuba.acme.apps.example.org", "TXT", theirs)
	w.awaits(c, yubav1.ReasonRecordOwned, "belongs to heritage=external-dns,owner=x")
	w.remove(c)
	if is := w.has("acme.apps.example.org", "A"); is != "192.0.2.1" || w.has("_yuba.acme.apps.example.org", "TXT") != theirs {
		t.Errorf("what belongs to somebody else was removed: %q", is)
	}
	// Unless the pool says that it may take it over. What the claim says itself is nothing: the text is public.
	second := w.claim("apps", "acme", "192.0.2.2")
	w.awaits(second, yubav1.ReasonRecordOwned, "")
	before := second.DeepCopy()
	second.Annotations = map[string]string{yubav1.AnnotationTakeOver: strings.Trim(theirs, `"`)}
	if err := w.Patch(t.Context(), second, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.awaits(second, yubav1.ReasonRecordOwned, "")
	p := &yubav1.SubdomainPool{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "apps"}, p); err != nil {
		t.Fatal(err)
	}
	was := p.DeepCopy()
	p.Annotations = map[string]string{yubav1.AnnotationTakeOver: w.namespace + "/" + second.Name + " " + string(second.UID) + " " + strings.Trim(theirs, `"`)}
	if err := w.Patch(t.Context(), p, client.MergeFrom(was)); err != nil {
		t.Fatal(err)
	}
	w.awaits(second, yubav1.ReasonClaimCommitted, "192.0.2.2")
	was = p.DeepCopy()
	p.Spec.PowerDNS.OwnerID = "other"
	if err := w.Patch(t.Context(), p, client.MergeFrom(was)); err == nil || !strings.Contains(err.Error(), "cannot change") {
		t.Error(err)
	}
	w.leads("acme.apps.example.org", "192.0.2.2")
}

// A repair is said also if something fails after it: the next pass does not find it.
func TestARepairIsSaidWhateverFollows(t *testing.T) {
	w := newWorld(t)
	p := w.pool("apps", asIs)
	c := w.claim("apps", "acme", "192.0.2.1")
	w.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.1")
	was := p.DeepCopy()
	p.Spec.PowerDNS.Nameserver = "127.0.0.1:1"
	if err := w.Patch(t.Context(), p, client.MergeFrom(was)); err != nil {
		t.Fatal(err)
	}
	w.awaits(c, yubav1.ReasonRecordUnverified, "cannot be verified")
	w.write("console.acme.apps.example.org", "A", "203.0.113.66")
	w.tells(yubav1.ReasonClaimRepaired, "console.acme.apps.example.org A was 203.0.113.66 with TTL 60")
	w.awaits(c, yubav1.ReasonRecordUnverified, "")
	if is := c.Status.LastRepair; is == nil || len(is.Records) != 1 || is.Records[0] != "console.acme.apps.example.org A was 203.0.113.66 with TTL 60" {
		t.Errorf("the last repair is %+v", is)
	}
}

func TestADomainOfOnesOwn(t *testing.T) {
	w := newWorld(t)
	// By the API: the whole domain.
	w.pool("own", func(s *yubav1.SubdomainPoolSpec) { s.Domain, s.Whole = "sub.example.org", true })
	c := w.claim("own", "@", "192.0.2.1")
	w.awaits(c, yubav1.ReasonClaimCommitted, "sub.example.org and 5 more records lead to 192.0.2.1")
	w.leads("sub.example.org", "192.0.2.1")
	w.awaits(w.claim("own", "acme", "192.0.2.2"), yubav1.ReasonClaimName, "gives its domain as a whole")
	w.remove(c)

	// Manually: Yuba says which records, and asks for them.
	w.pool("manual", func(s *yubav1.SubdomainPoolSpec) {
		s.Domain, s.PowerDNS, s.Records, s.Manual = "byhand.example.org", nil, []string{"@", "*"}, &yubav1.ManualDNS{Resolver: w.pdns.Nameserver}
	})
	c = w.claim("manual", "acme", "192.0.2.3")
	w.awaits(c, yubav1.ReasonClaimMissing, "2 of 2 records are not there yet: acme.byhand.example.org A is missing")
	w.write("acme.byhand.example.org", "A", "192.0.2.3")
	w.write("*.acme.byhand.example.org", "A", "192.0.2.4")
	w.awaits(c, yubav1.ReasonClaimMissing, "1 of 2 records are not there yet: *.acme.byhand.example.org A is 192.0.2.4")
	w.write("*.acme.byhand.example.org", "A", "192.0.2.3")
	w.awaits(c, yubav1.ReasonClaimCommitted, "lead to 192.0.2.3")
	w.awaits(w.claim("manual", "acme", "192.0.2.9"), yubav1.ReasonRecordOwned, "belongs to another claim")
	w.remove(c)
	if is := w.has("acme.byhand.example.org", "A"); is != "192.0.2.3" {
		t.Errorf("Yuba removed a record that it did not write: %q", is)
	}
}
