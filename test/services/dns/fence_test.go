// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// lastWrite is the write that the TXT record beside a name has.
func (w *world) lastWrite(host string) string {
	w.Helper()
	_, after, _ := strings.Cut(w.has("_yuba."+host, "TXT"), ",write=")
	write, _, _ := strings.Cut(strings.TrimSuffix(after, `"`), ",")
	if write == "" {
		w.Fatalf("the registration of %s is %s", host, w.has("_yuba."+host, "TXT"))
	}
	return write
}

// A copy of an object, with another UID as after a move, or with an older status as of a backup, writes nothing until somebody
// names the write that it may replace.
func TestACopyOfARecordWritesNothing(t *testing.T) {
	w := newWorld(t)
	const host = "www.example.org"
	f := w.record("www", host, nothing)
	w.await(f, yubav1.ReasonRecordPublished, "")
	first := f.DeepCopy()
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Endpoints = endpoints("eu=127.0.0.13") })
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.13")

	// A backup from before the last change is restored: its object has the UID, and not the last write.
	record, write := w.has(host, "LUA"), w.lastWrite(host)
	before := f.DeepCopy()
	f.Status = *first.Status.DeepCopy()
	if err := w.Status().Patch(t.Context(), f, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Endpoints = first.Spec.Endpoints })
	w.await(f, yubav1.ReasonRecordOwned, "with the same UID: one of both is of a backup")
	w.tells(yubav1.ReasonRecordOwned, "yuba kubectl annotate failoverrecord www -n "+w.namespace+" --overwrite yuba.dev/take-over-write="+write)
	if is := w.has(host, "LUA"); is != record {
		t.Errorf("a copy of a backup wrote %s", is)
	}
	// As the condition says.
	w.annotate(f, map[string]string{yubav1.AnnotationTakeOverWrite: write})
	w.await(f, yubav1.ReasonRecordPublished, "127.0.0.11,127.0.0.12")
	if w.lastWrite(host) == write {
		t.Error("the registration still has the write of the other copy")
	}

	// The object is deleted, its record stays, and another home has an object of the same name.
	w.change(f, func(s *yubav1.FailoverRecordSpec) { s.Suspend = true })
	w.await(f, yubav1.ReasonRecordSuspended, "")
	w.remove(f)
	record = w.has(host, "LUA")
	other := w.record("www", host, func(s *yubav1.FailoverRecordSpec) { s.Endpoints = endpoints("us=127.0.0.14") })
	w.await(other, yubav1.ReasonRecordOwned, "the copy of this object with the UID "+string(f.UID))
	// Its deletion removes nothing either.
	w.remove(other)
	if is := w.has(host, "LUA"); is != record {
		t.Errorf("after a copy was deleted, the record is %q", is)
	}
}

// byCopy does what a copy of a claim in another home does, at once: it writes the address of the name, and a registration with a write
// of its own.
func (w *world) byCopy(host, address, write string) {
	w.Helper()
	text, _, _ := strings.Cut(strings.Trim(w.has("_yuba."+host, "TXT"), `"`), ",write=")
	w.eventually("a copy writes", time.Minute, func() string {
		err := w.api().Change(w.Context(), "example.org", []powerdns.RRset{
			{Name: "_yuba." + host + ".", Type: "TXT", TTL: 60, Records: []powerdns.Record{{Content: `"` + text + ",write=" + write + `"`}}},
			{Name: host + ".", Type: "A", TTL: 5, Records: []powerdns.Record{{Content: address}}}})
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

// Two homes have one claim with one UID, as after the restore of a backup: what the other one writes is neither repaired nor removed,
// until somebody names its write. A copy that writes the same is no reason to stop.
func TestACopyOfAClaimWritesNothing(t *testing.T) {
	w := newWorld(t)
	const host = "acme.apps.example.org"
	w.pool("apps", func(s *yubav1.SubdomainPoolSpec) { s.Records = []string{"@"} })
	c := w.claim("apps", "acme", "192.0.2.1")
	w.awaits(c, yubav1.ReasonClaimCommitted, "")
	w.byCopy(host, "192.0.2.1", "same1")
	w.eventually("the write is adopted", time.Minute, func() string {
		w.awaits(c, yubav1.ReasonClaimCommitted, "")
		if !slices.Contains(c.Status.Writes, "same1") {
			return strings.Join(c.Status.Writes, " ")
		}
		return ""
	})
	if w.lastWrite(host) != "same1" {
		t.Error("it was written again")
	}

	w.byCopy(host, "203.0.113.9", "other2")
	w.awaits(c, yubav1.ReasonRecordOwned, "belongs to another copy of this claim, with the same UID: one of both is of a backup")
	w.tells(yubav1.ReasonRecordOwned, "yuba kubectl annotate subdomainclaim "+c.Name+" -n "+w.namespace+" --overwrite yuba.dev/take-over-write=other2")
	w.becomes(c, "192.0.2.2")
	w.annotate(c, map[string]string{yubav1.AnnotationTakeOverWrite: "other1"}) // an earlier write
	w.handled(c, func() string { return c.Status.LastHandledReconcileAt })
	w.awaits(c, yubav1.ReasonRecordOwned, "")
	if is := w.has(host, "A"); is != "203.0.113.9" || w.lastWrite(host) != "other2" {
		t.Errorf("a copy wrote %s", is)
	}
	// As the condition says.
	w.annotate(c, map[string]string{yubav1.AnnotationTakeOverWrite: "other2"})
	w.awaits(c, yubav1.ReasonClaimCommitted, "192.0.2.2")
	if is := w.has(host, "A"); is != "192.0.2.2" || w.lastWrite(host) == "other2" {
		t.Errorf("after it was taken over, it is %s", is)
	}
	if w.told(yubav1.ReasonClaimRepaired, "203.0.113.9") {
		t.Error("what a copy wrote is called a change of somebody")
	}

	// The deletion of a copy that does not have the name removes nothing.
	w.byCopy(host, "203.0.113.9", "other3")
	w.awaits(c, yubav1.ReasonRecordOwned, "")
	w.remove(c)
	if is := w.has(host, "A"); is != "203.0.113.9" || w.lastWrite(host) != "other3" {
		t.Errorf("after a copy was deleted, the record is %q", is)
	}
	// A claim of the same name has another UID: the owner of the pool decides.
	second := &yubav1.SubdomainClaim{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Spec: c.Spec}
	w.create(second)
	w.awaits(second, yubav1.ReasonRecordOwned, "a claim of the same name, with another UID")
	message := conditions.Of(second, infrav1.ConditionReady).Message
	_, value, found := strings.Cut(message, "yuba kubectl annotate subdomainpool apps -n "+w.namespace+" --overwrite "+yubav1.AnnotationTakeOver+"='")
	if !found {
		t.Fatal(message)
	}
	pool := &yubav1.SubdomainPool{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "apps"}}
	w.awaits(pool, yubav1.ReasonPoolReady, "")
	w.annotate(pool, map[string]string{yubav1.AnnotationTakeOver: strings.TrimSuffix(value, "'")})
	w.awaits(second, yubav1.ReasonClaimCommitted, "192.0.2.2")
}

// A DNSEndpoint that somebody changes or deletes is made again, and an event says so.
func TestAnEndpointOfExternalDNSIsRepaired(t *testing.T) {
	w := newWorld(t)
	w.define("")
	w.mayPublish()
	// Records of other tests publish www.example.org.
	f := w.record("www", "kept.example.org", func(s *yubav1.FailoverRecordSpec) {
		s.Publish = yubav1.FailoverPublish{DNSEndpoint: &yubav1.DNSEndpointPublish{Labels: map[string]string{"dns": "public"}, Nameserver: w.pdns.Nameserver}}
	})
	w.externalDNS("www")
	w.change(f, nothing)
	w.await(f, yubav1.ReasonRecordPublished, "")
	is := &unstructured.Unstructured{}
	is.SetAPIVersion("externaldns.k8s.io/v1alpha1")
	is.SetKind("DNSEndpoint")
	key := client.ObjectKeyFromObject(f)
	if err := w.Get(t.Context(), key, is); err != nil {
		t.Fatal(err)
	}
	right := is.DeepCopy()
	if w.told(yubav1.ReasonRecordRepaired, "") {
		t.Error("the first write is called a repair")
	}
	repaired := func(what string) {
		t.Helper()
		w.change(f, nothing)
		w.eventually("the DNSEndpoint is repaired", time.Minute, func() string {
			if err := w.Get(t.Context(), key, is); err != nil {
				return err.Error()
			}
			spec, want := is.Object["spec"], right.Object["spec"]
			if !metav1.IsControlledBy(is, f) || is.GetLabels()["dns"] != "public" || !equality.Semantic.DeepEqual(spec, want) {
				return "not yet"
			}
			return ""
		})
		w.tells(yubav1.ReasonRecordRepaired, what)
	}
	before := is.DeepCopy()
	is.Object["spec"] = map[string]any{"endpoints": []any{map[string]any{"dnsName": "kept.example.org", "recordType": "A", "targets": []any{"203.0.113.9"}}}}
	is.SetLabels(map[string]string{"dns": "private"})
	if err := w.Patch(t.Context(), is, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	repaired("the DNSEndpoint www had another spec or other labels")
	if err := w.Delete(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	repaired("the DNSEndpoint www was missing")
	w.await(f, yubav1.ReasonRecordPublished, "")
	if l := f.Status.LastRepair; l == nil || len(l.Records) != 1 || !strings.Contains(l.Records[0], "was missing") {
		t.Errorf("the last repair is %+v", l)
	}
}
