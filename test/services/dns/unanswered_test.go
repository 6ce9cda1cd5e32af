// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/pdnstest"
)

// more are more writes than a status remembers.
const more = 20

// flaky is an API of PowerDNS that answers to writes, or to everything, only sometimes.
type flaky struct {
	url              string
	unwritable, down atomic.Bool
	failed           atomic.Int32
}

func newFlaky(w *world) *flaky {
	w.Helper()
	target, err := url.Parse(w.pdns.URL)
	if err != nil {
		w.Fatal(err)
	}
	p, proxy := &flaky{}, httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case p.down.Load():
			rw.WriteHeader(http.StatusServiceUnavailable)
		case !p.unwritable.Load() || r.Method != http.MethodPatch:
			proxy.ServeHTTP(rw, r)
		case p.failed.Add(1)%2 == 0:
			rw.WriteHeader(http.StatusGatewayTimeout)
		default:
			panic(http.ErrAbortHandler) // no answer
		}
	}))
	w.Cleanup(front.Close)
	p.url = front.URL
	return p
}

// An object knows its own records on a server, however often it tried to change them without an answer, and however often it has
// written elsewhere since. Otherwise its own name would be somebody else's, and its former addresses would be answered for ever.
func TestAnObjectKnowsItsRecordsAfterManyWrites(t *testing.T) {
	w := newWorld(t)
	first, second := newFlaky(w), pdnstest.Start(t, []string{"example.org"})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "second"}, StringData: map[string]string{"api-key": second.Key}})
	f := w.record("www", "www.example.org", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.URL = first.url })
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	pass := func() {
		t.Helper()
		w.change(f, nothing)
		w.handled(f, func() string { return f.Status.LastHandledReconcileAt })
	}

	first.unwritable.Store(true)
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Endpoints = endpoints("eu=127.0.0.11", "us=127.0.0.13") })
	for range more {
		pass()
	}
	if n := first.failed.Load(); n < more {
		t.Fatalf("only %d writes failed", n)
	}
	w.await(f, yubav1.ReasonRecordUnreachable, "")
	first.unwritable.Store(false)
	w.change(f, nothing)
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.13")

	first.down.Store(true)
	last := f.Status.Writes[len(f.Status.Writes)-1]
	w.change(f, func(s *yubav1.FailoverRecordSpec) {
		s.Publish.PowerDNS.URL, s.Publish.PowerDNS.Nameserver, s.Publish.PowerDNS.SecretRef.Name = second.URL, second.Nameserver, "second"
	})
	for n := range more {
		w.change(f, func(s *yubav1.FailoverRecordSpec) { s.TTL = int32(10 + n) })
		w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.13")
	}
	if slices.Contains(f.Status.Writes, last) {
		t.Fatalf("the status still has the write %s: %v", last, f.Status.Writes)
	}
	first.down.Store(false)
	w.change(f, nothing)
	w.gone(w.pdns, "www.example.org")
	w.eventually("the former place is left", time.Minute, func() string {
		w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.13")
		if len(f.Status.Places) != 1 || f.Status.Places[0].URL != second.URL {
			return fmt.Sprintf("the places are %+v", f.Status.Places)
		}
		return ""
	})
}
