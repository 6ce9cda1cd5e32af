// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// TestServersAndOtherProgramsAgree lets two servers and another program change one bucket at random,
// while the servers refresh all the time, and checks that each server ends with what the bucket has,
// and that a server sees its own changes at once.
func TestServersAndOtherProgramsAgree(t *testing.T) {
	s := newShelf(t)
	var servers []*catalog.Catalog
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		c, err := catalog.Open(ctx, s.bucket, catalog.Options{Refresh: time.Millisecond, Spool: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, c)
		wg.Go(func() { c.Run(ctx) }) //nolint:errcheck // it returns none
	}
	defer wg.Wait()
	defer stop()
	random := rand.New(rand.NewPCG(19, 2))
	for range 300 {
		v := version(t, fmt.Sprintf("acme/m%d/aws@1.%d.0", random.IntN(3), random.IntN(4)))
		c := servers[random.IntN(2)]
		switch random.IntN(5) {
		case 0, 1:
			data := packed(t, fmt.Sprintf("# %d\n", random.IntN(2)))
			var conflict *catalog.ConflictError
			r, _, err := c.Publish(ctx, v, bytes.NewReader(data), catalog.PublishOptions{By: "eva"})
			if err != nil && !errors.As(err, &conflict) {
				t.Fatal(err)
			}
			if err != nil {
				continue
			}
			if seen, err := c.Release(ctx, v); err != nil || seen.Digest != r.Digest {
				t.Fatalf("%s was published as %s, and is %+v, %v", v, r.Digest, seen, err)
			}
		case 2:
			var notice *catalog.Notice
			if random.IntN(2) == 0 {
				notice = &catalog.Notice{Kind: catalog.Deprecated, Reason: fmt.Sprint(random.IntN(100))}
			}
			r, err := c.Mark(ctx, v, notice)
			if err != nil && !errors.Is(err, catalog.ErrNone) {
				t.Fatal(err)
			}
			if err == nil && (r.Notice == nil) != (notice == nil) {
				t.Fatalf("%s was marked with %+v, and has %+v", v, notice, r.Notice)
			}
		case 3:
			s.write(v.String(), fmt.Sprintf("# foreign %d\n", random.IntN(2)))
		default:
			if err := s.bucket.Delete(ctx, v.Key()); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := contentsOf(t, s.another())
	for i, c := range servers {
		deadline := time.Now().Add(time.Minute)
		for got := contentsOf(t, c); got != want; got = contentsOf(t, c) {
			if time.Now().After(deadline) {
				t.Fatalf("server %d has\n%s\nand the bucket\n%s", i, got, want)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// contentsOf describes all releases.
func contentsOf(t *testing.T, c *catalog.Catalog) string {
	t.Helper()
	var b strings.Builder
	for n := range 3 {
		releases, err := c.Versions(t.Context(), layout.Module{Namespace: "acme", Name: fmt.Sprintf("m%d", n), System: "aws"})
		if err != nil && !errors.Is(err, catalog.ErrNone) {
			t.Fatal(err)
		}
		for _, r := range releases {
			reason := ""
			if r.Notice != nil {
				reason = r.Notice.Reason
			}
			fmt.Fprintf(&b, "%s %s %d %s %q\n", r.ModuleVersion, r.Digest, r.Size, r.By, reason)
		}
	}
	return b.String()
}
