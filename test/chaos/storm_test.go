// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/test/cloud"
)

// slowCloud is a cloud behind a slow connection, as real clouds are: otherwise applies would end
// before anything could be killed.
func slowCloud(t *testing.T, rng *rand.Rand) (c *cloud.Cloud, address string) {
	t.Helper()
	c = cloud.Start()
	t.Cleanup(c.Close)
	target, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of clients that were killed
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		delay := time.Duration(rng.Int64N(int64(150 * time.Millisecond)))
		mu.Unlock()
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(way.Close)
	return c, way.URL
}

// storm is a fleet under attack.
type storm struct {
	*fleet
	lookout *lookout
	blows   []blow
	applies int
	// struck counts the blows by victim and moment.
	struck map[string]int
}

// gather creates a fleet on a server, with its own cloud, from one seed.
func gather(t *testing.T, seed uint64, y *yuba, namespace string) *storm {
	t.Helper()
	// The schedule and the cloud's delays need separate generators, so that they do not affect each
	// other.
	c, address := slowCloud(t, rand.New(rand.NewPCG(seed, 2))) //nolint:gosec // a schedule is no secret
	y.newNamespace(namespace)
	s := &storm{fleet: newFleet(y, c, address, rand.New(rand.NewPCG(seed, 3))), //nolint:gosec // neither is what changes
		lookout: newLookout(y), struck: map[string]int{}}
	c.KeepJournal(func(cloud.Change) { s.lookout.tell(changing) })
	return s
}

// maxBehind is how many stacks may be behind before the next one is changed.
const maxBehind = 5

// rage strikes all blows while the fleet changes.
func (s *storm) rage(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.lookout.watch(ctx)
	if err := s.grow(ctx, *stacksFlag); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() { s.keepChanging(ctx, t, over) })
	for i, b := range s.blows {
		if err := s.lookout.strike(ctx, b); err != nil {
			t.Errorf("blow %d: %v", i, err)
			break
		}
		s.struck[string(b.victim)]++
		s.struck["at "+string(b.moment)]++
	}
	close(over)
	changes.Wait()
}

// keepChanging changes stacks until the storm is over and there were enough changes.
func (s *storm) keepChanging(ctx context.Context, t *testing.T, over chan struct{}) {
	for done := 0; ; {
		select {
		case <-over:
			if done >= s.applies {
				s.mu.Lock()
				s.changes["changes"] = done
				s.mu.Unlock()
				return
			}
		default:
		}
		if s.behind() < maxBehind {
			if err := s.change(ctx); err != nil {
				t.Error(err)
				return
			}
			done++
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// report prints a summary of the storm and its results.
func (s *storm) report(t *testing.T, raged, settled time.Duration, l ledger) {
	t.Helper()
	s.y.mu.Lock()
	starts, slowest := s.y.starts, s.y.slowest
	s.y.mu.Unlock()
	mistaken := 0
	for _, change := range s.cloud.Journal() {
		if change.Mistaken() != "" {
			mistaken++
		}
	}
	text := fmt.Sprintf("%d stacks, %d deleted; %v\n%d blows: %v\nthe server was started %d times, at most %s until it was ready\nthe storm took %s, everything had settled %s later\n%s, %d of these on false assumptions\n%s",
		len(s.stacks), len(s.gone), s.changes, len(s.blows), s.struck, starts, slowest.Round(10*time.Millisecond),
		raged.Round(time.Second), settled.Round(100*time.Millisecond), count(s.cloud.Journal()), mistaken, l)
	t.Log(text)
}

// When the server or the runner dies, at any time, nothing is lost, duplicated or left behind.
func TestKillsOfServerAndRunner(t *testing.T) {
	seed := newSeed(t)
	y := newYuba(t)
	y.up()
	s := gather(t, seed, y, "storm")
	s.applies = *appliesFlag
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a schedule is no secret
	s.blows = append(schedule(rng, *killsFlag, moments, theServer, theServer, theRunner, theRunner, both),
		schedule(rng, max(1, *killsFlag/10), moments, frozenServer, frozenRunner)...)
	rng.Shuffle(len(s.blows), func(i, j int) { s.blows[i], s.blows[j] = s.blows[j], s.blows[i] })
	began := time.Now()
	s.rage(t)
	raged := time.Since(began)
	settled := s.settle(t)
	l := s.audit(t)
	for i, change := range s.cloud.Journal() {
		if what := change.Mistaken(); what != "" {
			t.Errorf("change %d: %s %s: %s", i, change.Method, change.Name, what)
		}
	}
	s.report(t, raged, settled, l)
}

// manyFells is the number of kills of which some must have hit an apply.
const manyFells = 20

// When tofu dies, or everything at once, its changes are listed, and Yuba makes a fresh plan before
// anything else.
func TestKillsOfTofuAndEverything(t *testing.T) {
	seed := newSeed(t)
	y := newYuba(t)
	y.up()
	s := gather(t, seed, y, "fell")
	s.breaksLocks = true
	s.applies = *fellsFlag
	s.blows = schedule(rand.New(rand.NewPCG(seed, 1)), *fellsFlag, midst, theTofu, everything) //nolint:gosec // a schedule is no secret
	began := time.Now()
	s.rage(t)
	raged := time.Since(began)
	settled := s.settleListing(t)
	l := s.audit(t)
	s.auditListing(t)
	// A few blows may miss every apply. Of many, some must hit, or the test no longer recognises
	// interrupted runs.
	if *fellsFlag >= manyFells && l.interrupted == 0 {
		t.Errorf("tofu was killed %d times, and no run is on record as interrupted in its apply: %v", *fellsFlag, l.outcomes)
	}
	s.report(t, raged, settled, l)
}
