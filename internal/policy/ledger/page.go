// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yuba-dev/yuba/internal/policy/audit"
)

const (
	// MaxPage limits the entries of a page. pageBytes and pageTime end it sooner: the API server gives a
	// request 60 s, and a page is one response in memory.
	MaxPage   = 1000
	pageBytes = 8 << 20
	pageTime  = 5 * time.Second
	// readers is how many entries are read at a time: in a bucket, each read takes a round trip.
	readers = 16
)

// Page is a part of the log, in the order of stacks and numbers. A chain can go on in the next page.
type Page struct {
	Chains []audit.Chain
	// Next is where the next page begins; empty for the end of the log.
	Next string
}

// Page reads the entries of a stack, of a namespace or of all stacks, after the place at which another
// page ended; empty for the beginning.
func (l *Ledger) Page(ctx context.Context, namespace, stack, after string, limit int) (Page, error) {
	under := prefix
	if namespace != "" {
		under += namespace + "/"
	}
	if stack != "" {
		under += stack + "/"
	}
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	p := &paging{ledger: l, end: time.Now().Add(pageTime), left: limit}
	for info, err := range l.Store.List(ctx, under) {
		if err != nil {
			return Page{}, fmt.Errorf("list the audit log: %w", err)
		}
		place := strings.TrimPrefix(info.Key, prefix)
		at, ok := parsePlace(place)
		if !ok || place <= after {
			continue
		}
		if p.full() {
			p.page.Next = p.last
			return p.page, nil
		}
		if p.batch = append(p.batch, at); len(p.batch) == min(readers, p.left) {
			if err := p.read(ctx); err != nil {
				return Page{}, err
			}
		}
	}
	return p.page, p.read(ctx)
}

// place is where an entry is: NAMESPACE/STACK/NUMBER.
type place struct {
	namespace, stack, text string
	number                 int64
}

func parsePlace(text string) (place, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return place{}, false
	}
	number, err := strconv.ParseInt(parts[2], 10, 64)
	return place{parts[0], parts[1], text, number}, err == nil
}

// paging fills a page.
type paging struct {
	ledger *Ledger
	page   Page
	batch  []place
	last   string
	end    time.Time
	left   int
	bytes  int
}

// full reports whether the page ends after the entries that were read.
func (p *paging) full() bool {
	return len(p.batch) == 0 && p.last != "" && (p.left == 0 || p.bytes > pageBytes || time.Now().After(p.end))
}

// read reads the entries of the batch.
func (p *paging) read(ctx context.Context) error {
	entries := make([]audit.Entry, len(p.batch))
	group, ctx := errgroup.WithContext(ctx)
	for i, at := range p.batch {
		group.Go(func() (err error) {
			entries[i], err = p.ledger.entry(ctx, at.namespace, at.stack, at.number)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, at := range p.batch {
		chains := p.page.Chains
		if n := len(chains); n == 0 || chains[n-1].Namespace != at.namespace || chains[n-1].Stack != at.stack {
			chains = append(chains, audit.Chain{Namespace: at.namespace, Stack: at.stack})
		}
		one := &chains[len(chains)-1]
		one.Items = append(one.Items, entries[i])
		p.page.Chains, p.last = chains, at.text
		p.bytes += len(entries[i].Record)
	}
	p.left -= len(p.batch)
	p.batch = p.batch[:0]
	return nil
}
