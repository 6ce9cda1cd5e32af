// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestAPanicEndsOneOperation(t *testing.T) {
	err := launch(time.Minute, func(context.Context) error { panic("s3cret") }).wait(t.Context())
	var crash *panicError
	if !errors.As(err, &crash) {
		t.Fatalf("the error is %v", err)
	}
	wantFailure(t, explain("check", Upstream{URL: "https://h/x"}, err), ReasonOperation, "This is a bug in Yuba")
}

func TestAFlightWithoutCallersIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := launch(time.Hour, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !f.join() {
		t.Fatal("joining failed")
	}
	cancel()
	if err := f.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	select {
	case <-f.done:
		t.Error("it ended despite a waiting caller")
	default:
	}
	if err := f.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	<-f.done
	if f.join() {
		t.Error("joining a cancelled operation succeeded")
	}
	limited := launch(time.Millisecond, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err := limited.wait(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

// TestManyReferencesAreFetchedTogether requests many versions of one repository concurrently.
func TestManyReferencesAreFetchedTogether(t *testing.T) {
	server := gittest.New(t)
	r := server.Repository(t, "central")
	const versions = 20
	for n := range versions {
		r.Commit(t, "commit", gittest.Files{"version": fmt.Sprint(n)})
		r.Git(t, "tag", fmt.Sprintf("v1.%d.0", n))
	}
	r.Push(t)
	m := open(t, Options{})
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	server.SetFault(func(_ http.ResponseWriter, request *http.Request) bool {
		if request.Method == http.MethodPost {
			arrived <- struct{}{}
			<-release
		}
		return false
	})
	up := Upstream{URL: r.URL()}
	fetch := func(n int, dir string) error {
		found, err := m.Look(patient(t), up, Want{Ref: Ref{Tag: fmt.Sprintf("v1.%d.0", n)}, MaxAge: time.Hour})
		if err != nil {
			return err
		}
		if err := found.Fetch(patient(t), dir); err != nil {
			return err
		}
		if got := treeOf(t, dir)["version"]; got != fmt.Sprint(n) {
			return fmt.Errorf("the version is %q, want %d", got, n)
		}
		return nil
	}
	var group sync.WaitGroup
	for n := range versions {
		dir := t.TempDir()
		group.Go(func() {
			if err := fetch(n, dir); err != nil {
				t.Error(err)
			}
		})
	}
	<-arrived
	mirror, err := m.mirror(up)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		mirror.mu.Lock()
		defer mirror.mu.Unlock()
		return len(mirror.pending) == versions-1
	})
	close(release)
	group.Wait()
	if got := server.Counts("central"); got.Lookups != 1 || got.Fetches != 2 {
		t.Errorf("the requests are %+v, want one look and two fetches: the first one, and one for all others", got)
	}
}

// TestOneBadReferenceFailsForItselfAlone requests a missing object in a shared fetch.
func TestOneBadReferenceFailsForItselfAlone(t *testing.T) {
	server := gittest.New(t)
	r := commitTo(t, server)
	m := open(t, Options{})
	up := Upstream{URL: r.URL()}
	good, bad := look(t, m, up, main), look(t, m, up, Want{Ref: Ref{Commit: strings.Repeat("c", 40)}})
	mirror, err := m.mirror(up)
	if err != nil {
		t.Fatal(err)
	}
	mirror.mu.Lock()
	mirror.pending = map[plumbing.Hash]bool{hash("c"): true}
	mirror.mu.Unlock()
	wantOne(t, good)
	wantFailure(t, bad.Fetch(patient(t), t.TempDir()), ReasonOperation, "commit")
}
