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

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/pdnstest"
)

// gone waits until a server has nothing of a name.
func (w *world) gone(s *pdnstest.Server, host string) {
	w.Helper()
	for _, name := range []string{host, "_yuba." + host} {
		w.eventually(name+" is removed", time.Minute, func() string {
			if is := ask(w.T, s, name, dns.TypeTXT); is != "NXDOMAIN" {
				return is
			}
			return ""
		})
	}
}

// rekey replaces the API key of the second server's Secret.
func (w *world) rekey(key string) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "second"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"api-key":"`+key+`"}}`))
	if err := w.Patch(w.Context(), secret, patch); err != nil {
		w.Fatal(err)
	}
}

func TestAMovedRecordLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	second := pdnstest.Start(t, []string{"example.org"})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "second"}, StringData: map[string]string{"api-key": second.Key}})
	f := w.record("www", "www.sub.example.org", nothing)
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")

	// Another id of the server: the object keeps the name.
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.OwnerID = "other" })
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")

	// Another server: the former one is cleaned up.
	w.change(f, func(s *yubav1.FailoverRecordSpec) {
		s.Publish.PowerDNS.URL, s.Publish.PowerDNS.Nameserver, s.Publish.PowerDNS.SecretRef.Name = second.URL, second.Nameserver, "second"
	})
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	w.gone(w.pdns, "www.sub.example.org")
	if is := ask(t, second, "_yuba.www.sub.example.org", dns.TypeTXT); is == "NXDOMAIN" {
		t.Error("the new server has no registration")
	}

	// And back. A former server that refuses is named, and asked again until it does not.
	w.rekey("wrong")
	w.change(f, func(s *yubav1.FailoverRecordSpec) {
		s.Publish.PowerDNS.URL, s.Publish.PowerDNS.Nameserver, s.Publish.PowerDNS.SecretRef.Name = w.pdns.URL, w.pdns.Nameserver, "pdns"
	})
	w.eventually("a warning names the former server", time.Minute, func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(f), f); err != nil {
			return err.Error()
		}
		if all := strings.Join(f.Status.Warnings, "\n"); !strings.Contains(all, "the records at "+second.URL+", zone example.org, are not removed yet: read the records of www.sub.example.org: the server refuses the API key") {
			return all
		}
		return ""
	})
	w.rekey(second.Key)
	w.change(f, func(*yubav1.FailoverRecordSpec) {})
	w.gone(second, "www.sub.example.org")
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	w.eventually("the former place is left", time.Minute, func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(f), f); err != nil {
			return err.Error()
		}
		return strings.Join(f.Status.Warnings, "\n")
	})
	if len(f.Status.Places) != 1 || f.Status.Places[0].URL != w.pdns.URL || f.Status.Places[0].Zone != "sub.example.org" || f.Status.Places[0].OwnerID != "other" {
		t.Errorf("the places are %+v", f.Status.Places)
	}
}

func TestTheStatusKnowsThePlaceBeforeTheFirstWrite(t *testing.T) {
	w := newWorld(t)
	target, err := url.Parse(w.pdns.URL)
	if err != nil {
		t.Fatal(err)
	}
	var writes, unknown atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			writes.Add(1)
			var is yubav1.FailoverRecord
			if err := w.Get(r.Context(), client.ObjectKey{Namespace: w.namespace, Name: "www"}, &is); err != nil || len(is.Status.Places) == 0 || is.Status.Places[0].Zone != "example.org" {
				unknown.Add(1)
			}
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	f := w.record("www", "www.example.org", func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.URL = front.URL })
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	if writes.Load() == 0 || unknown.Load() > 0 {
		t.Errorf("%d of %d writes came before the place was known", unknown.Load(), writes.Load())
	}

	// The same server by another of its names: the record is written again, and not removed from there.
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Publish.PowerDNS.URL = w.pdns.URL })
	w.eventually("the former place is left", time.Minute, func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(f), f); err != nil {
			return err.Error()
		}
		if len(f.Status.Places) != 1 || f.Status.Places[0].URL != w.pdns.URL {
			return "it is not"
		}
		return ""
	})
	w.answers("www.example.org", "127.0.0.11,127.0.0.12", time.Second)
}
