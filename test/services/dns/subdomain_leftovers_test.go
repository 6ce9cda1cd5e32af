// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
)

// newGate is a proxy before the PowerDNS. A write waits in enter, which may refuse it as a locked database does; leave runs after
// it is done.
func newGate(w *world, enter func([]powerdns.RRset) bool, leave func([]powerdns.RRset)) string {
	w.Helper()
	target, err := url.Parse(w.pdns.URL)
	if err != nil {
		w.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	gate := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch {
			proxy.ServeHTTP(rw, r)
			return
		}
		var change struct{ RRsets []powerdns.RRset }
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &change) != nil {
			http.Error(rw, "no JSON", http.StatusBadRequest)
			return
		}
		if !enter(change.RRsets) {
			http.Error(rw, `{"error": "database is locked"}`, http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		proxy.ServeHTTP(rw, r)
		leave(change.RRsets)
	}))
	w.Cleanup(gate.Close)
	return gate.URL
}

// changes returns the name of a changed record set; empty if none is.
func changes(sets []powerdns.RRset, kind, part string) string {
	for _, set := range sets {
		if set.ChangeType == kind && strings.Contains(set.Name, part) {
			return set.Name
		}
	}
	return ""
}

// once is a channel that is closed once.
type once struct {
	sync.Once
	done chan struct{}
}

func newOnce() *once     { return &once{done: make(chan struct{})} }
func (o *once) close()   { o.Do(func() { close(o.done) }) }
func (o *once) is() bool { return o.within(0) }

// await fails the test if the channel stays open: the moment that the test is about has not come.
func (o *once) await(w *world, what string) {
	if !o.within(20 * time.Second) {
		w.Errorf("within 20 seconds, %s", what)
	}
}

func (o *once) within(d time.Duration) bool {
	select {
	case <-o.done:
		return true
	default:
	}
	select {
	case <-o.done:
		return true
	case <-time.After(d):
		return false
	}
}

// A replica whose bid comes late does not get the name, and the server refuses to remove the bid, until the claim has expired by the
// other replica. The bid is removed all the same, long before others would ignore it, and the name is free.
func TestABidIsRemovedAfterItsClaimExpired(t *testing.T) {
	w := newWorld(t)
	var mutex sync.Mutex
	var bids []string
	second, registers, late, over := newOnce(), newOnce(), newOnce(), newOnce()
	refused := 0
	p := w.pool("apps", func(s *yubav1.SubdomainPoolSpec) {
		s.ReservationTTL.Duration = 5 * time.Second
		s.PowerDNS.URL = newGate(w, func(sets []powerdns.RRset) bool {
			if bid := changes(sets, "REPLACE", "._yuba-bid."); bid != "" {
				mutex.Lock()
				if !slices.Contains(bids, bid) {
					bids = append(bids, bid)
				}
				at := slices.Index(bids, bid)
				if len(bids) > 1 {
					second.close()
				}
				mutex.Unlock()
				switch at { // both have read that there is none
				case 0:
					second.await(w, "there is no second bid")
				case 1:
					registers.await(w, "nobody registers the name") // the other one has read that there is no second one
				}
			}
			if changes(sets, "REPLACE", "_yuba.") != "" {
				registers.close()
				late.await(w, "no bid comes late")
			}
			mutex.Lock()
			defer mutex.Unlock()
			if len(bids) > 1 && changes(sets, "DELETE", bids[1]) != "" && !over.is() {
				refused++
				return false
			}
			return true
		}, func(sets []powerdns.RRset) {
			mutex.Lock()
			defer mutex.Unlock()
			if len(bids) > 1 && changes(sets, "REPLACE", bids[1]) != "" {
				late.close()
			}
		})
	})
	w.awaits(p, yubav1.ReasonPoolReady, "")
	c := w.claim("apps", "acme")
	w.eventually("the claim has expired, and the bid stays", time.Minute, func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err.Error()
		}
		mutex.Lock()
		defer mutex.Unlock()
		if len(bids) < 2 || refused == 0 || c.Status.Phase != yubav1.SubdomainExpired {
			return string(c.Status.Phase)
		}
		return ""
	})
	w.awaits(c, yubav1.ReasonClaimExpired, "The reservation of acme.apps.example.org ended")
	if is := w.has(strings.TrimSuffix(bids[1], "."), "TXT"); is == "" {
		t.Error("the bid is gone: the test proves nothing")
	}
	over.close()
	w.nothingOf("acme.apps.example.org")
	w.awaits(w.claim("apps", "acme", "192.0.2.9"), yubav1.ReasonClaimCommitted, "192.0.2.9")
}

// A claim is deleted while one replica writes its records, and the server refuses to remove them at first: nobody else would.
func TestRecordsOfAClaimThatIsDeletedMeanwhile(t *testing.T) {
	w := newWorld(t)
	held, deleted := newOnce(), newOnce()
	var mutex sync.Mutex
	refused := 0
	p := w.pool("apps", func(s *yubav1.SubdomainPoolSpec) {
		s.PowerDNS.URL = newGate(w, func(sets []powerdns.RRset) bool {
			if changes(sets, "REPLACE", "_yuba.") != "" {
				held.close()
				deleted.await(w, "the claim is not deleted")
			}
			mutex.Lock()
			defer mutex.Unlock()
			if changes(sets, "DELETE", "_yuba.acme") != "" && refused < 4 { // more often than a pass tries
				refused++
				return false
			}
			return true
		}, func([]powerdns.RRset) {})
	})
	w.awaits(p, yubav1.ReasonPoolReady, "")
	c := w.claim("apps", "acme", "192.0.2.1")
	if !held.within(time.Minute) {
		t.Fatal("nothing is written")
	}
	w.remove(c)
	deleted.close()
	w.eventually("the records are there, and their removal is refused", time.Minute, func() string {
		mutex.Lock()
		defer mutex.Unlock()
		if refused < 4 {
			return "not yet"
		}
		return ""
	})
	w.nothingOf("acme.apps.example.org")
}

// A record is published by PowerDNS from now on, whose API fails at first. Its DNSEndpoint goes nevertheless.
func TestAnEndpointGoesAfterAFailure(t *testing.T) {
	w := newWorld(t)
	w.define("")
	w.mayPublish()
	f := w.record("www", "left.example.org", func(s *yubav1.FailoverRecordSpec) {
		s.Publish = yubav1.FailoverPublish{DNSEndpoint: &yubav1.DNSEndpointPublish{}}
	})
	w.await(f, yubav1.ReasonRecordPending, "")
	server := newFlaky(w)
	server.down.Store(true)
	w.change(f, func(s *yubav1.FailoverRecordSpec) {
		s.Publish = yubav1.FailoverPublish{PowerDNS: yubav1.PowerDNSServer{URL: server.url, Nameserver: w.pdns.Nameserver}}
		s.Publish.PowerDNS.SecretRef.Name = "pdns"
	})
	w.await(f, yubav1.ReasonRecordUnreachable, "")
	server.down.Store(false)
	w.change(f, nothing)
	w.await(f, yubav1.ReasonRecordPublished, "")
	is := &unstructured.Unstructured{}
	is.SetAPIVersion("externaldns.k8s.io/v1alpha1")
	is.SetKind("DNSEndpoint")
	w.eventually("the DNSEndpoint is gone", time.Minute, func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(f), is); !apierrors.IsNotFound(err) {
			return "it is there"
		}
		return ""
	})
}
