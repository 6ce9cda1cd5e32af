// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/home"
)

// startAPI starts the API of a cluster, without controllers, and returns its kubeconfig.
func startAPI(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	api, err := home.Start(ctx, home.Options{DataDir: dir, APIAddress: "127.0.0.1:0", Version: "test", CRDs: crd.Embedded,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := api.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "kubeconfig")
}

// trouble is a proxy that makes an API slow and unreliable.
type trouble struct {
	*httptest.Server
	proxy *httputil.ReverseProxy

	mu  sync.Mutex
	rng *rand.Rand
	// on enables faults; away makes the API unreachable.
	on, away bool
	counts   map[string]int
}

// troubled starts a faulty proxy for an API and returns a kubeconfig for it.
func troubled(t *testing.T, kubeconfig string, rng *rand.Rand) (*trouble, string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	x := &trouble{rng: rng, counts: map[string]int{}, proxy: httputil.NewSingleHostReverseProxy(target)}
	if x.proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	x.proxy.FlushInterval = -1 // watches
	x.proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	x.Server = httptest.NewTLSServer(x)
	t.Cleanup(func() {
		x.CloseClientConnections()
		x.Close()
	})
	way := clientcmdapi.NewConfig()
	way.Clusters["way"] = &clientcmdapi.Cluster{Server: x.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: x.Certificate().Raw})}
	way.AuthInfos["way"] = &clientcmdapi.AuthInfo{Token: "unused"}
	way.Contexts["way"] = &clientcmdapi.Context{Cluster: "way", AuthInfo: "way"}
	way.CurrentContext = "way"
	name := filepath.Join(t.TempDir(), "way.kubeconfig")
	if err := clientcmd.WriteToFile(*way, name); err != nil {
		t.Fatal(err)
	}
	return x, name
}

// fate is the fault of one request.
type fate struct {
	what  string
	delay time.Duration
}

// draw selects the fault of a request at random.
func (x *trouble) draw(r *http.Request) fate {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := fate{what: "served"}
	switch n := x.rng.IntN(100); {
	case x.away:
		f.what = "away"
	case !x.on:
	case n < 4:
		f.what = "dropped before"
	case n < 8 && r.URL.Query().Get("watch") == "":
		f.what = "dropped after"
	case n < 11:
		f.what = "500"
	case n < 14:
		f.what = "429"
	case n < 18 && (r.Method == http.MethodPut || r.Method == http.MethodPatch):
		f.what = "409"
	case n < 40:
		f.what, f.delay = "delayed", time.Duration(x.rng.Int64N(int64(2*time.Second)))
	}
	x.counts[f.what]++
	return f
}

// ServeHTTP forwards a request, or injects its fault.
func (x *trouble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := x.draw(r)
	r.Header.Del("Authorization") // the way has rights of its own
	switch f.what {
	case "away", "dropped before":
		panic(http.ErrAbortHandler)
	case "dropped after":
		x.proxy.ServeHTTP(httptest.NewRecorder(), r) // executed, without a response
		panic(http.ErrAbortHandler)
	case "500":
		refuse(w, http.StatusInternalServerError, "InternalError", "etcdserver: request timed out")
		return
	case "429":
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "TooManyRequests", "try again later")
		return
	case "409":
		refuse(w, http.StatusConflict, "Conflict", "the object has been modified; please apply your changes to the latest version and try again")
		return
	}
	select {
	case <-time.After(f.delay):
	case <-r.Context().Done():
		return
	}
	x.proxy.ServeHTTP(w, r)
}

// refuse answers with an error, as an API server does.
func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code) //nolint:errcheck // the client is gone
}

// be sets the faults. Open connections, mostly watches, break when the API goes away.
func (x *trouble) be(on, away bool) {
	x.mu.Lock()
	x.on, x.away = on, away
	x.mu.Unlock()
	if away {
		x.CloseClientConnections()
	}
}

// closed reports whether a channel is closed.
func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pass waits: the duration of an outage is part of the test.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// An API that is slow, fails, confirms writes it has not made, makes writes it does not confirm,
// and disappears for a while: runs finish, states are stored, and nothing is applied twice.
func TestTroubledAPI(t *testing.T) {
	seed := newSeed(t)
	y := newYuba(t)
	y.kubeconfig = startAPI(t)
	x, way := troubled(t, y.kubeconfig, rand.New(rand.NewPCG(seed, 4))) //nolint:gosec // chance is no secret
	y.says = "Yuba's controllers are ready"
	y.keep("controller", "--kubeconfig", way, "--content-address", "127.0.0.1:0")
	s := gather(t, seed, y, "troubled")
	x.be(true, false)
	if err := s.grow(t.Context(), max(6, *stacksFlag/2)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.applies = *appliesFlag / 2
	over, changed := make(chan struct{}), make(chan struct{})
	close(over) // as soon as all changes are made
	go func() {
		defer close(changed)
		s.keepChanging(t.Context(), t, over)
	}()
	for outages := 0; !closed(changed); outages++ {
		s.lookout.await(t.Context(), changing) // tofu is in the middle of something
		if outages%3 == 0 {
			x.be(true, true)
			pass(t, 4*time.Second)
			x.be(true, false)
		}
		pass(t, 2*time.Second)
	}
	raged := time.Since(began)
	x.be(false, false)
	settled := s.settle(t)
	l := s.audit(t)
	for i, change := range s.cloud.Journal() {
		if what := change.Mistaken(); what != "" {
			t.Errorf("change %d: %s %s: %s", i, change.Method, change.Name, what)
		}
	}
	t.Logf("requests to the API: %v", x.counts)
	s.report(t, raged, settled, l)
}
