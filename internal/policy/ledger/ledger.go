// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/policy/audit"
)

const (
	prefix = "audit/"
	// maxEntry limits an entry: [audit.MaxFindings] findings with their messages fit.
	maxEntry = 1 << 20
	// lookBack is how many records are searched for an earlier attempt. Between the two attempts there
	// are at most the records of a few other people.
	lookBack = 50
	// attempts limits retries after another server took the number.
	attempts = 20
)

// Store is the part of the blob store that the ledger uses.
type Store interface {
	Create(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error]
}

// Ledger stores records. It is safe for concurrent use.
type Ledger struct {
	Store Store
	// Server names this server in records.
	Server string

	chains sync.Map // stack to *chain
}

// chain is what this process knows about the end of a chain.
type chain struct {
	mu   sync.Mutex
	last int64
	read bool
}

// Append completes a record, stores it as the last one of its stack, and returns its place. If it is
// there already, see [audit.Record.Same], nothing is stored, and its place is returned.
func (l *Ledger) Append(ctx context.Context, r audit.Record) (audit.Head, error) {
	known, _ := l.chains.LoadOrStore(r.Namespace+"/"+r.Stack, &chain{})
	c := known.(*chain)
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Format, r.Who.Server, r.At = audit.Format, l.Server, r.At.UTC()
	for range attempts {
		if !c.read {
			if err := l.readEnd(ctx, c, r.Namespace, r.Stack); err != nil {
				return audit.Head{}, err
			}
		}
		previous, head, err := l.earlier(ctx, &r, c.last)
		if err != nil || head.Number > 0 {
			return head, err
		}
		r.Number, r.Previous = c.last+1, previous
		entry, err := audit.Seal(r)
		if err != nil {
			return audit.Head{}, err
		}
		data, err := json.Marshal(entry)
		if err != nil {
			return audit.Head{}, fmt.Errorf("write the audit record: %w", err)
		}
		switch err = l.Store.Create(ctx, key(r.Namespace, r.Stack, r.Number), data); {
		case errors.Is(err, blob.ErrExists):
			c.read = false // another server was faster
		case err != nil:
			// It may be stored all the same: read again.
			c.read = false
			return audit.Head{}, fmt.Errorf("record in the audit log of %s/%s: %w", r.Namespace, r.Stack, err)
		default:
			c.last = r.Number
			return audit.Head{Number: r.Number, Digest: entry.Digest}, nil
		}
	}
	return audit.Head{}, fmt.Errorf("record in the audit log of %s/%s: other servers write to it all the time", r.Namespace, r.Stack)
}

// readEnd finds the last number.
func (l *Ledger) readEnd(ctx context.Context, c *chain, namespace, stack string) error {
	for number, err := range l.numbers(ctx, namespace, stack) {
		if err != nil {
			return err
		}
		c.last = max(c.last, number)
	}
	c.read = true
	return nil
}

// earlier finds an earlier attempt to store a record, and otherwise the link of the last entry. Of
// decisions only the last one counts: a rule about time may have decided otherwise in between. It reads
// no more entries than it needs, the newest first.
func (l *Ledger) earlier(ctx context.Context, r *audit.Record, last int64) (link string, head audit.Head, err error) {
	var bound string
	for n := last; n > 0 && last-n < lookBack; n-- {
		e, err := l.entry(ctx, r.Namespace, r.Stack, n)
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			return "", audit.Head{}, err
		}
		have, broken := e.Decode()
		if n == last {
			link, bound = e.Link(), have.BoundDigest
		}
		switch {
		case broken == nil && have.Same(r):
			return "", audit.Head{Number: have.Number, Digest: e.Digest}, nil
		case broken == nil && r.Kind == audit.KindDecision && have.Kind == audit.KindDecision,
			have.BoundDigest != bound: // what is about other bytes is older than any earlier attempt
			return link, audit.Head{}, nil
		}
	}
	return link, audit.Head{}, nil
}

// Chain reads all records of a stack.
func (l *Ledger) Chain(ctx context.Context, namespace, stack string) (audit.Chain, error) {
	c := audit.Chain{Namespace: namespace, Stack: stack}
	for number, err := range l.numbers(ctx, namespace, stack) {
		if err != nil {
			return c, err
		}
		e, err := l.entry(ctx, namespace, stack, number)
		if err != nil {
			return c, err
		}
		c.Items = append(c.Items, e)
	}
	return c, nil
}

// numbers lists the numbers of a chain, in order.
func (l *Ledger) numbers(ctx context.Context, namespace, stack string) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		under := prefix + namespace + "/" + stack + "/"
		for info, err := range l.Store.List(ctx, under) {
			if err != nil {
				yield(0, fmt.Errorf("list the audit log of %s/%s: %w", namespace, stack, err))
				return
			}
			number, err := strconv.ParseInt(strings.TrimPrefix(info.Key, under), 10, 64)
			if err == nil && !yield(number, nil) {
				return
			}
		}
	}
}

// entry reads an entry. Damage is not an error: the entry then has what cannot be read.
func (l *Ledger) entry(ctx context.Context, namespace, stack string, number int64) (audit.Entry, error) {
	data, err := l.Store.Get(ctx, key(namespace, stack, number), maxEntry)
	var sealed *blob.SealError
	var large *blob.TooLargeError
	switch {
	case errors.As(err, &sealed), errors.As(err, &large):
		return damaged(fmt.Sprintf("blob %s is damaged", key(namespace, stack, number))), nil
	case err != nil:
		return audit.Entry{}, fmt.Errorf("read the audit log of %s/%s: %w", namespace, stack, err)
	}
	var e audit.Entry
	if err := json.Unmarshal(data, &e); err != nil || len(e.Record) == 0 {
		return damaged(string(data)), nil
	}
	return e, nil
}

// damaged is an entry whose record is a text: it does not decode.
func damaged(text string) audit.Entry {
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`"unreadable"`)
	}
	return audit.Entry{Record: quoted}
}

func key(namespace, stack string, number int64) string {
	return fmt.Sprintf("%s%s/%s/%020d", prefix, namespace, stack, number)
}
