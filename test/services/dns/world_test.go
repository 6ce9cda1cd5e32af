// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/controller"
	subdomains "github.com/yuba-dev/yuba/internal/dns/subdomain/controller"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/pdnstest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// started is the controller of this test binary.
var started struct {
	once sync.Once
	err  error
}

func start(t *testing.T) error {
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(apitest.API(t).RESTConfig(), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	r := &controller.Reconciler{Client: mgr.GetClient(), Direct: apitest.Client(t), Events: mgr.GetEventRecorder("yuba"), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	ctx := context.Background() // not that of one test
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	go mgr.Start(ctx) //nolint:errcheck // it ends with the test binary
	for range 2 {     // two replicas, neither of which waits for the other
		mgr, err := ctrl.NewManager(apitest.API(t).RESTConfig(), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
		if err != nil {
			return err
		}
		s := &subdomains.Reconciler{Client: mgr.GetClient(), Direct: apitest.Client(t), Events: mgr.GetEventRecorder("yuba"), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		if err := s.SetupWithManager(ctx, mgr); err != nil {
			return err
		}
		go mgr.Start(ctx) //nolint:errcheck // it ends with the test binary
	}
	return nil
}

// world is a namespace with a PowerDNS of its own, and its key in the Secret pdns.
type world struct {
	*testing.T
	client.Client
	namespace string
	pdns      *pdnstest.Server
}

func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	started.once.Do(func() { started.err = start(t) })
	if started.err != nil {
		t.Fatal(started.err)
	}
	w := &world{t, apitest.Client(t), apitest.Namespace(t), pdnstest.Start(t, []string{"example.org", "sub.example.org"}, settings...)}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pdns"}, StringData: map[string]string{"api-key": w.pdns.Key}})
	return w
}

func (w *world) create(o client.Object) {
	w.Helper()
	o.SetNamespace(w.namespace)
	if err := w.Create(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

// endpoints are name=address pairs.
func endpoints(pairs ...string) (all []yubav1.FailoverEndpoint) {
	for _, p := range pairs {
		name, address, _ := strings.Cut(p, "=")
		all = append(all, yubav1.FailoverEndpoint{Name: name, Addresses: strings.Split(address, ",")})
	}
	return all
}

// prioritized gives endpoints the priorities 0, 1, 2, …
func prioritized(all []yubav1.FailoverEndpoint) []yubav1.FailoverEndpoint {
	for i := range all {
		n := int32(i)
		all[i].Priority = &n
	}
	return all
}

func web(port int) *yubav1.FailoverCheck {
	return &yubav1.FailoverCheck{TimeoutSeconds: 1, HTTP: &yubav1.FailoverHTTPCheck{URL: fmt.Sprintf("http://www.example.org:%d/health", port)}}
}

func tcp(port int) *yubav1.FailoverCheck {
	return &yubav1.FailoverCheck{TimeoutSeconds: 1, TCP: &yubav1.FailoverTCPCheck{Port: int32(port)}}
}

// record creates a FailoverRecord.
func (w *world) record(name, host string, change func(*yubav1.FailoverRecordSpec)) *yubav1.FailoverRecord {
	w.Helper()
	f := &yubav1.FailoverRecord{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: yubav1.FailoverRecordSpec{Host: host, TTL: 5, Placement: yubav1.PlacementActiveActive,
		Endpoints: endpoints("eu=127.0.0.11", "us=127.0.0.12"), Interval: metav1.Duration{Duration: 5 * time.Second}}}
	f.Spec.Publish.PowerDNS = yubav1.PowerDNSServer{URL: w.pdns.URL, Nameserver: w.pdns.Nameserver}
	f.Spec.Publish.PowerDNS.SecretRef.Name = "pdns"
	change(&f.Spec)
	w.create(f)
	return f
}

func nothing(*yubav1.FailoverRecordSpec) {}

// change changes a record.
func (w *world) change(f *yubav1.FailoverRecord, how func(*yubav1.FailoverRecordSpec)) {
	w.Helper()
	before := f.DeepCopy()
	f.Annotations = map[string]string{infrav1.AnnotationReconcile: time.Now().String()}
	how(&f.Spec)
	if err := w.Patch(w.Context(), f, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

// await waits for the reason and a part of the message of a record.
func (w *world) await(f *yubav1.FailoverRecord, reason, says string) {
	w.Helper()
	w.eventually(f.Name+" is "+reason+": "+says, time.Minute, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(f), f); err != nil {
			return err.Error()
		}
		c := conditions.Of(f, infrav1.ConditionReady)
		if c.Reason != reason || !strings.Contains(c.Message, says) || f.Status.ObservedGeneration != f.Generation {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
}

// tells waits for an event, and checks that none has the API key.
func (w *world) tells(reason, note string) {
	w.Helper()
	w.eventually("an event says "+reason+": "+note, time.Minute, func() string {
		var list eventsv1.EventList
		if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
		var all []string
		found := false
		for _, e := range list.Items {
			all = append(all, e.Reason+": "+e.Note)
			found = found || e.Reason == reason && strings.Contains(e.Note, note)
		}
		text := strings.Join(all, "\n")
		if strings.Contains(text, w.pdns.Key) {
			w.Fatal("an event has the API key")
		}
		if !found {
			return text
		}
		return ""
	})
}

// told reports whether an event of a reason says something.
func (w *world) told(reason, note string) bool {
	w.Helper()
	var list eventsv1.EventList
	if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == reason && strings.Contains(e.Note, note) {
			return true
		}
	}
	return false
}

func (w *world) eventually(what string, within time.Duration, wrong func() string) {
	w.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		is := wrong()
		if is == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s; but: %s\n%s", what, is, w.pdns.Log())
		}
	}
}

// ask asks PowerDNS as a resolver does: the addresses of a name, sorted, or the response code.
func ask(t *testing.T, s *pdnstest.Server, host string, kind uint16) string {
	t.Helper()
	m := new(dns.Msg)
	m.SetQuestion(host+".", kind)
	answer, err := dns.Exchange(m, s.Nameserver)
	if err == nil && answer.Truncated {
		answer, _, err = (&dns.Client{Net: "tcp"}).Exchange(m, s.Nameserver)
	}
	if err != nil {
		t.Fatal(err)
	}
	if answer.Rcode != dns.RcodeSuccess {
		return dns.RcodeToString[answer.Rcode]
	}
	var found []string
	for _, rr := range answer.Answer {
		switch r := rr.(type) {
		case *dns.A:
			found = append(found, r.A.String())
		case *dns.AAAA:
			found = append(found, r.AAAA.String())
		case *dns.TXT:
			found = append(found, strings.Join(r.Txt, ""))
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		x, _ := netip.ParseAddr(a)
		y, _ := netip.ParseAddr(b)
		return x.Compare(y)
	})
	return strings.Join(found, ",")
}

// answers waits until a name has an answer.
func (w *world) answers(host, want string, within time.Duration) time.Duration {
	w.Helper()
	begin := time.Now()
	w.eventually(host+" answers "+want, within, func() string {
		if is := ask(w.T, w.pdns, host, dns.TypeA); is != want {
			return "it answers " + is
		}
		return ""
	})
	return time.Since(begin)
}
