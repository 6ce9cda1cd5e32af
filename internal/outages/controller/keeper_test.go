// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	apitest.Main(m)
}

// recorder records events: action, reason, and namespaces.
type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) Eventf(regarding, _ runtime.Object, _, reason, action, _ string, _ ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := regarding.(client.Object)
	r.events = append(r.events, fmt.Sprintf("%s %s %s: %s", o.GetName(), action, reason, o.GetAnnotations()[yubav1.AnnotationConcerns]))
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// world is a keeper on the API. Each test has its own providers, so tests can share the API.
type world struct {
	*Keeper
	client   client.Client
	recorder *recorder
	provider string
	stop     func()
	mu       sync.Mutex
	woken    map[string]bool
	runs     int
	// at is when runs end; zero means now.
	at time.Time
	// writes counts writes of statuses.
	writes atomic.Int64
}

func start(t *testing.T, provider string, change ...func(*circuits.Options)) *world {
	t.Helper()
	w := &world{client: apitest.Client(t), recorder: &recorder{}, provider: provider, woken: map[string]bool{}}
	w.begin(t, change...)
	return w
}

// begin starts a keeper, as in a server.
func (w *world) begin(t *testing.T, change ...func(*circuits.Options)) {
	t.Helper()
	mgr, err := ctrl.NewManager(apitest.API(t).RESTConfig(), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	o := circuits.DefaultOptions()
	o.FirstPause, o.MaxPause = 100*time.Millisecond, time.Second
	for _, c := range change {
		c(&o)
	}
	counting := interceptor.NewClient(apitest.Client(t), interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		w.writes.Add(1)
		return c.SubResource(sub).Patch(ctx, o, patch, options...)
	}})
	w.Keeper = &Keeper{Client: counting, Reader: w.client, Events: w.recorder, Options: o, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Wake: func(s circuits.Stack) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.woken[s.String()] = true
		}}
	ctx, cancel := context.WithCancel(t.Context())
	if err := w.SetupWithManager(ctx, mgr); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache did not fill")
	}
}

func (w *world) ends(namespace string, n int, fine bool) {
	w.mu.Lock()
	w.runs++
	run := fmt.Sprint(w.runs)
	w.mu.Unlock()
	at := w.at
	if at.IsZero() {
		at = time.Now()
	}
	e := circuits.Ended{Stack: stackNo(namespace, w.provider, n), Run: run, At: at,
		Providers: []string{"hashicorp/" + w.provider}, Succeeded: fine, Proven: true}
	if !fine {
		e.Failure = &circuits.Failure{Summary: "reading thing", Detail: "503 Service Unavailable", Address: w.provider + "_thing.a"}
	}
	w.Observe(e)
}

func (w *world) failing(namespace string, from, to int) {
	for n := from; n < to; n++ {
		w.ends(namespace, n, false)
	}
}

// object is the test's one circuit breaker; may be nil.
func (w *world) object(t *testing.T) *yubav1.CircuitBreaker {
	t.Helper()
	var list yubav1.CircuitBreakerList
	if err := w.client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var found *yubav1.CircuitBreaker
	for i := range list.Items {
		if list.Items[i].Status.Provider == "hashicorp/"+w.provider {
			if found != nil {
				t.Fatalf("two circuit breakers: %s and %s", found.Name, list.Items[i].Name)
			}
			found = &list.Items[i]
		}
	}
	return found
}

func (w *world) await(t *testing.T, what string, wanted func(*yubav1.CircuitBreaker) bool) *yubav1.CircuitBreaker {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		o := w.object(t)
		if wanted(o) {
			return o
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting until %s: %+v", what, o)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func isIn(state yubav1.CircuitBreakerState) func(*yubav1.CircuitBreaker) bool {
	return func(o *yubav1.CircuitBreaker) bool { return o != nil && o.Status.State == state }
}

// succeed lets every probe succeed until the circuit breaker is closed.
func (w *world) succeed(t *testing.T) {
	t.Helper()
	w.await(t, "it closes", func(o *yubav1.CircuitBreaker) bool {
		for _, name := range o.Status.Stacks {
			namespace, name, _ := strings.Cut(name, "/")
			n, err := strconv.Atoi(name[5:])
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := w.Cover(stackNo(namespace, w.provider, n), nil); ok && c.Probe {
				w.ends(namespace, n, true)
			}
		}
		return o.Status.State == yubav1.StateClosed
	})
}

func stackNo(namespace, provider string, n int) circuits.Stack {
	return circuits.Stack{Namespace: namespace, Name: fmt.Sprintf("%s-%d", provider[:4], n), UID: fmt.Sprint(n)}
}

func TestAnOutageFromItsBeginningToItsEnd(t *testing.T) {
	w := start(t, "aaaa")
	w.failing("blue", 0, 7)
	o := w.await(t, "seven are affected", func(o *yubav1.CircuitBreaker) bool { return o != nil && o.Status.Affected == 7 })
	ready := apimeta.FindStatusCondition(o.Status.Conditions, "Ready")
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Message == "" || o.Status.OpenedAt == nil || o.Status.ClosedAt != nil ||
		o.Spec.Mode != yubav1.ModeAutomatic || !slices.Contains(o.Status.Stacks, "blue/aaaa-3") {
		t.Errorf("%+v", o)
	}
	// Stacks of other namespaces learn of it when it concerns them.
	w.failing("green", 10, 15)
	w.await(t, "green is affected, too", func(o *yubav1.CircuitBreaker) bool {
		return slices.Equal(o.Status.AffectedNamespaces, []string{"blue", "green"})
	})
	w.succeed(t)
	closed := w.object(t)
	if ready := apimeta.FindStatusCondition(closed.Status.Conditions, "Ready"); ready.Status != metav1.ConditionTrue || closed.Status.ClosedAt == nil || closed.Status.Stacks != nil {
		t.Errorf("%+v", closed.Status)
	}
	want := []string{o.Name + " Open CircuitOpen: blue", o.Name + " Widen CircuitOpen: green", o.Name + " Close CircuitClosed: blue,green"}
	eventually(t, "three events", func() bool { return slices.Equal(w.recorder.all(), want) }, func() any { return w.recorder.all() })
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.woken["blue/aaaa-3"] || !w.woken["green/aaaa-10"] {
		t.Errorf("only %v were woken", w.woken)
	}
}

func eventually(t *testing.T, what string, holds func() bool, is func() any) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: %v", what, is())
		}
	}
}

func TestAServerThatStartsAgainKnowsWhatIsOpen(t *testing.T) {
	w := start(t, "bbbb", func(o *circuits.Options) { o.FirstPause = time.Hour })
	w.failing("blue", 0, 5)
	o := w.await(t, "it is open", isIn(yubav1.StateOpen))
	w.stop()
	w.recorder = &recorder{}
	w.begin(t)
	cover, ok := w.Cover(circuits.Stack{Namespace: "blue", Name: "other", UID: "1"}, []string{"hashicorp/bbbb"})
	if !ok || !cover.Open || cover.Name != o.Name {
		t.Fatalf("%+v", cover)
	}
	// The failing stacks report it again, and one is probed.
	w.at = times.Of(o.Status.OpenedAt)
	w.failing("blue", 0, 5)
	w.at = time.Time{}
	w.succeed(t)
	if told := w.recorder.all(); slices.Contains(told, o.Name+" Open CircuitOpen: blue") {
		t.Errorf("it was told again: %q", told)
	}
	if again := w.object(t); again.UID != o.UID || again.Status.Affected != 5 || again.Status.Openings != 1 {
		t.Errorf("%+v", again)
	}
}

func TestPeopleHaveTheLastWord(t *testing.T) {
	w := start(t, "cccc", func(o *circuits.Options) { o.FirstPause = time.Hour })
	w.failing("blue", 0, 5)
	o := w.await(t, "it is open", isIn(yubav1.StateOpen))
	turn := func(mode yubav1.CircuitBreakerMode) {
		t.Helper()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"mode":"`+string(mode)+`"}}`))
		if err := w.client.Patch(t.Context(), o.DeepCopy(), patch); err != nil {
			t.Fatal(err)
		}
	}
	turn(yubav1.ModeClosed)
	w.await(t, "it is closed", isIn(yubav1.StateClosed))
	w.failing("blue", 10, 20)
	turn(yubav1.ModeOpen)
	w.await(t, "it is kept open", func(o *yubav1.CircuitBreaker) bool {
		c := apimeta.FindStatusCondition(o.Status.Conditions, "Ready")
		return o.Status.State == yubav1.StateOpen && c.Reason == yubav1.ReasonMaintenance
	})
	w.failing("blue", 20, 22)
	w.await(t, "others rest as well", func(o *yubav1.CircuitBreaker) bool { return slices.Contains(o.Status.Stacks, "blue/cccc-20") })
	w.mu.Lock()
	clear(w.woken)
	w.mu.Unlock()
	if err := w.client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.await(t, "it is gone", func(o *yubav1.CircuitBreaker) bool { return o == nil })
	eventually(t, "its end", func() bool {
		c, ok := w.Cover(circuits.Stack{Namespace: "blue", Name: "other", UID: "1"}, []string{"hashicorp/cccc"})
		return !ok || !c.Open
	}, func() any { return nil })
	eventually(t, "those who rest", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.woken["blue/cccc-20"]
	}, func() any { return "nobody looks at them" })
	// The outage continues, and is detected again.
	w.failing("blue", 30, 36)
	if again := w.await(t, "it is seen again", isIn(yubav1.StateOpen)); again.UID == o.UID {
		t.Error("it is the same object")
	}
}

func TestMaintenanceByHand(t *testing.T) {
	w := start(t, "dddd")
	o := &yubav1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: "dddd-upgrade"}, Spec: yubav1.CircuitBreakerSpec{Mode: yubav1.ModeOpen, Provider: "hashicorp/dddd", Namespaces: []string{"blue"}}}
	if err := w.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.await(t, "it is open", isIn(yubav1.StateOpen))
	for namespace, want := range map[string]bool{"blue": true, "green": false} {
		c, ok := w.Cover(circuits.Stack{Namespace: namespace, Name: "one", UID: "1"}, []string{"hashicorp/dddd"})
		if (ok && c.Open) != want {
			t.Errorf("in %s: %+v", namespace, c)
		}
	}
	nothing := &yubav1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: "dddd-nothing"}, Spec: yubav1.CircuitBreakerSpec{Mode: yubav1.ModeOpen}}
	if err := w.client.Create(t.Context(), nothing); err == nil {
		t.Error("one that is about nothing was taken")
	}
}

func TestWhatIsOverForLongIsRemoved(t *testing.T) {
	w := start(t, "eeee", func(o *circuits.Options) { o.Keep = 2 * time.Second })
	w.failing("blue", 0, 5)
	w.await(t, "it is open", isIn(yubav1.StateOpen))
	w.succeed(t)
	w.await(t, "it is removed", func(o *yubav1.CircuitBreaker) bool { return o == nil })
}

// A thousand failing stacks cause only a few writes to the API.
func TestAStormIsAFewWrites(t *testing.T) {
	w := start(t, "ffff", func(o *circuits.Options) { o.FirstPause = time.Hour })
	w.failing("blue", 0, 1000)
	o := w.await(t, "all are affected", func(o *yubav1.CircuitBreaker) bool { return o != nil && o.Status.Affected == 1000 })
	if len(o.Status.Stacks) != maxStacks {
		t.Errorf("%d stacks are named", len(o.Status.Stacks))
	}
	if n := w.writes.Load(); n > 10 {
		t.Errorf("%d writes", n)
	}
}
