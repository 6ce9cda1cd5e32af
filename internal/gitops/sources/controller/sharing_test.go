// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// many makes GitRepositories of one upstream and waits until they have its head.
func (s *site) many(n int, upstream *gittest.Repository, change ...func(*sourcev1.GitRepository)) []*sourcev1.GitRepository {
	s.t.Helper()
	all := make([]*sourcev1.GitRepository, n)
	for i := range all {
		all[i] = s.repository(fmt.Sprint("central-", i), upstream.URL(), change...)
	}
	for _, o := range all {
		s.awaitRevision(o, "main@sha1:"+upstream.Head(s.t))
	}
	return all
}

func TestAHundredSourcesOfOneUpstreamAreOneClone(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"main.tf": "1"})
	s := newSite(t)
	began := time.Now()
	all := s.many(100, upstream)
	counts := server.Counts("central")
	t.Logf("100 sources ready after %s: %+v", time.Since(began), counts)
	if counts.Clones != 1 || counts.Fetches != 1 || counts.Lookups > 5 {
		t.Errorf("%+v", counts)
	}
	digests := map[string]bool{}
	for _, o := range all {
		digests[o.Status.Artifact.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("%d archives of one tree", len(digests))
	}
	// One of them hears of a new commit, and all have it.
	head := upstream.Commit(t, "second", gittest.Files{"main.tf": "2"})
	began = time.Now()
	s.ask(all[7], "now")
	for _, o := range all {
		s.awaitRevision(o, "main@sha1:"+head)
	}
	counts = server.Counts("central")
	t.Logf("100 sources have the new commit after %s: %+v", time.Since(began), counts)
	if counts.Fetches != 2 || counts.Clones != 1 || counts.Lookups > 8 {
		t.Errorf("%+v", counts)
	}
}

func TestManySourcesOfOneUpstreamLookOnceInAnInterval(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"main.tf": "1"})
	const interval = 2 * time.Second
	s := newSite(t)
	s.many(30, upstream, func(o *sourcev1.GitRepository) { o.Spec.Interval.Duration = interval })
	server.Reset()
	began := time.Now()
	eventually(t, func() error {
		if n := server.Counts("central").Lookups; n < 4 {
			return fmt.Errorf("%d lookups", n)
		}
		return nil
	})
	// A remembered look is good for nine tenths of an interval, so that is the least between two.
	if least := 3 * interval * 9 / 10; time.Since(began) < least-100*time.Millisecond {
		t.Errorf("4 lookups within %s; with an interval of %s they take %s at least", time.Since(began), interval, least)
	}
	if counts := server.Counts("central"); counts.Fetches != 0 {
		t.Errorf("%+v", counts)
	}
}

func TestAHostThatHangsHoldsUpNobodyElse(t *testing.T) {
	slow, quick := gittest.New(t), gittest.New(t)
	hanging, working := slow.Repository(t, "hanging"), quick.Repository(t, "working")
	hanging.Commit(t, "first", gittest.Files{"a": "1"})
	working.Commit(t, "first", gittest.Files{"a": "1"})
	release := make(chan struct{})
	var waiting atomic.Int64
	slow.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		waiting.Add(1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	})
	s := newSite(t)
	var held []*sourcev1.GitRepository
	for i := range 30 {
		// Each is an upstream of its own, so that none waits for another's look.
		held = append(held, s.repository(fmt.Sprint("hanging-", i), fmt.Sprintf("%s?n=%d", hanging.URL(), i), func(o *sourcev1.GitRepository) {
			o.Spec.Timeout = &metav1.Duration{Duration: 50 * time.Minute}
		}))
	}
	eventually(t, func() error {
		if waiting.Load() == 0 {
			return fmt.Errorf("nobody asks the host that hangs")
		}
		return nil
	})
	for i := range 10 {
		s.awaitRevision(s.repository(fmt.Sprint("working-", i), working.URL()), "main@sha1:"+working.Head(t))
	}
	if n := waiting.Load(); n > perHost {
		t.Errorf("%d looks at one host at a time", n)
	}
	// It takes long, and the object says that it is worked on.
	s.await(held[0], "it tells that it is worked on", func() bool {
		return held[0].Status.ObservedGeneration == -1 && conditions.Of(held[0], "Reconciling").Reason == "Progressing"
	})
	close(release)
}

func TestATreeIsPackedByOneOfAllWhoWantIt(t *testing.T) {
	s := newSite(t)
	var fetched atomic.Int64
	s.end()
	upstream := upstreamFunc(func(context.Context, *sourcev1.GitRepository, bool) (*Found, error) {
		return &Found{Revision: "main@sha1:1", ContentKey: "tree", Fetch: func(_ context.Context, dir string) error {
			fetched.Add(1)
			return place(dir, map[string]string{"a": "1", "b": "2"})
		}}, nil
	})
	s.start(func(s *Sources) { s.Git = upstream })
	same, ignoring, elsewhere := []*sourcev1.GitRepository{}, (*sourcev1.GitRepository)(nil), (*sourcev1.GitRepository)(nil)
	for i := range 20 {
		same = append(same, s.repository(fmt.Sprint("same-", i), "https://git.test/a"))
	}
	ignore := "/b\n"
	ignoring = s.repository("ignoring", "https://git.test/a", func(o *sourcev1.GitRepository) { o.Spec.Ignore = &ignore })
	// What another server says about its content proves nothing about this one's.
	elsewhere = s.repository("elsewhere", "https://git.test/b")
	for _, o := range append(same, ignoring, elsewhere) {
		s.awaitRevision(o, "main@sha1:1")
	}
	if n := fetched.Load(); n != 3 {
		t.Errorf("fetched %d times, want once for each of three different trees", n)
	}
	if ignoring.Status.Artifact.Digest == same[0].Status.Artifact.Digest || elsewhere.Status.Artifact.Digest != same[0].Status.Artifact.Digest {
		t.Error("wrong archives")
	}
}

func TestOneThatWasMadeAnewIsAnotherSource(t *testing.T) {
	var m memories
	name := types.NamespacedName{Namespace: "a", Name: "b"}
	m.with(name, "1", func(mem *memory) { mem.failures = 3 })
	m.with(name, "2", func(mem *memory) {
		if mem.failures != 0 {
			t.Error("it remembers what another one did")
		}
		mem.failures = 1
	})
	m.Having(name, "1", func(*memory) { t.Error("the old one is still known") })
	m.Having(name, "2", func(mem *memory) {
		if mem.failures != 1 {
			t.Error("it forgot")
		}
	})
}

func TestManySourcesOfAnUpstreamThatIsAwayAreFewAttempts(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"main.tf": "1"})
	var asked atomic.Int64
	server.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	s := newSite(t)
	var all []*sourcev1.GitRepository
	for i := range 60 {
		all = append(all, s.repository(fmt.Sprint("central-", i), upstream.URL()))
	}
	began := time.Now()
	for _, o := range all {
		s.awaitFailure(o, sourcev1.GitOperationFailedReason)
	}
	// One attempt a second at the most, and a few for those that were on their way together.
	if most := 5 + int64(time.Since(began)/time.Second); asked.Load() > most {
		t.Errorf("%d attempts for 60 sources", asked.Load())
	}
	server.SetFault(nil)
	for _, o := range all {
		s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	}
}

func TestARequestThatFailsIsNotAnsweredFromMemoryLater(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"main.tf": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL())
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	var asked atomic.Int64
	server.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	s.request(o, "now")
	s.awaitFailure(o, sourcev1.GitOperationFailedReason)
	version, first := o.ResourceVersion, asked.Load()
	eventually(t, func() error {
		if asked.Load() == first {
			return fmt.Errorf("it is not tried again")
		}
		return nil
	})
	s.await(o, "it goes on failing", func() bool { return o.ResourceVersion == version })
}
