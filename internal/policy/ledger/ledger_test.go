// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/policy/audit"
	"github.com/yuba-dev/yuba/internal/policy/decide"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func newStore(t *testing.T) *blob.Store {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	store, err := blob.Open(t.Context(), "file://"+t.TempDir()+"/blobs?create_dir=1", identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() }) //nolint:errcheck // a temporary directory
	return store
}

func decision(plan, verdict string) audit.Record {
	bound := decide.Bound{Stack: "team/vpc", Plan: plan}
	return audit.Record{Namespace: "team", Stack: "vpc", UID: "uid-1", At: now, Kind: audit.KindDecision, Plan: plan,
		Bound: &bound, BoundDigest: bound.Hash(), Verdict: verdict, Message: `<"safe"> & sound`}
}

func approval(plan, user string) audit.Record {
	r := decision(plan, "")
	r.Kind, r.Who.User, r.Message = audit.KindApproval, user, ""
	return r
}

func add(t *testing.T, l *Ledger, r audit.Record) audit.Head {
	t.Helper()
	head, err := l.Append(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func read(t *testing.T, l *Ledger) audit.Chain {
	t.Helper()
	c, err := l.Chain(t.Context(), "team", "vpc")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func problems(list []audit.Problem) string {
	var texts []string
	for _, p := range list {
		texts = append(texts, fmt.Sprintf("%d: %s", p.Number, p.Message))
	}
	return strings.Join(texts, "; ")
}

func TestAChainIsWhole(t *testing.T) {
	store := newStore(t)
	l := &Ledger{Store: store, Server: "yuba at here"}
	var heads []audit.Head
	for _, r := range []audit.Record{decision("p1", "Held"), approval("p1", "ann"), approval("p1", "bob"), decision("p1", "Approved"), decision("p2", "Freed")} {
		heads = append(heads, add(t, l, r))
	}
	c := read(t, l)
	if got := c.Verify(heads...); len(got) > 0 || len(c.Items) != 5 || c.Head() != heads[4] {
		t.Errorf("%d records, %s", len(c.Items), problems(got))
	}
	// Another tool may have formatted the export.
	text, err := json.MarshalIndent(c, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	var again audit.Chain
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), `\u003c`, "<")), &again); err != nil || len(again.Verify(heads...)) > 0 {
		t.Errorf("after formatting: %v, %s", err, problems(again.Verify(heads...)))
	}
}

// A server that was killed between the record and the status does both again.
func TestTheSameEventIsRecordedOnce(t *testing.T) {
	store := newStore(t)
	for range 3 {
		l := &Ledger{Store: store} // a new process
		held := add(t, l, decision("p1", "Held"))
		add(t, l, approval("p1", "ann"))
		ann := add(t, l, approval("p1", "ann"))
		if held.Number != 1 || ann.Number != 2 {
			t.Errorf("recorded as %v and %v", held, ann)
		}
	}
	l := &Ledger{Store: store}
	// A rule about time has another result, and the first one again.
	add(t, l, decision("p1", "Refused"))
	if again := add(t, l, decision("p1", "Held")); again.Number != 4 {
		t.Errorf("a later decision with an earlier result is %v", again)
	}
	if c := read(t, l); len(c.Items) != 4 || len(c.Verify()) > 0 {
		t.Errorf("%d records, %s", len(c.Items), problems(c.Verify()))
	}
}

func TestServersDoNotShareANumber(t *testing.T) {
	store := newStore(t)
	var all sync.WaitGroup
	for server := range 3 {
		l := &Ledger{Store: store, Server: fmt.Sprint(server)}
		for i := range 5 {
			all.Go(func() {
				if _, err := l.Append(t.Context(), approval("p1", fmt.Sprintf("user-%d-%d", server, i))); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if c := read(t, &Ledger{Store: store}); len(c.Items) != 15 || len(c.Verify()) > 0 {
		t.Errorf("%d records, %s", len(c.Items), problems(c.Verify()))
	}
}

func TestDamageIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, s *blob.Store)
		want   string
	}{
		"a record is changed": {func(t *testing.T, s *blob.Store) {
			rewrite(t, s, 2, func(e *audit.Entry) { e.Record = []byte(strings.Replace(string(e.Record), "ann", "eve", 1)) })
		}, "2: its content does not have its digest: it was changed; 3: it does not continue the record before: one of the two was changed"},
		"a record is changed with its digest": {func(t *testing.T, s *blob.Store) {
			rewrite(t, s, 2, func(e *audit.Entry) {
				e.Record = []byte(strings.Replace(string(e.Record), "ann", "eve", 1))
				e.Digest = e.Link()
			})
		}, "3: it does not continue the record before: one of the two was changed"},
		"a record is removed":  {func(t *testing.T, s *blob.Store) { remove(t, s, 2) }, "2: it is missing"},
		"the first is removed": {func(t *testing.T, s *blob.Store) { remove(t, s, 1) }, "1: it is missing"},
		"two are removed":      {func(t *testing.T, s *blob.Store) { remove(t, s, 2); remove(t, s, 3) }, "2: records 2 to 3 are missing"},
		"the last is removed": {func(t *testing.T, s *blob.Store) { remove(t, s, 4) },
			"4: it was noted as HEAD, and is not there: records were removed from the end"},
		"the last is exchanged": {func(t *testing.T, s *blob.Store) {
			rewrite(t, s, 4, func(e *audit.Entry) {
				r, err := e.Decode()
				if err != nil {
					t.Fatal(err)
				}
				r.Verdict = "Freed"
				if *e, err = audit.Seal(r); err != nil {
					t.Fatal(err)
				}
			})
		}, "4: it was noted as HEAD, and is "},
		"a record is exchanged for that of another stack": {func(t *testing.T, s *blob.Store) {
			rewrite(t, s, 4, func(e *audit.Entry) {
				r, err := e.Decode()
				if err != nil {
					t.Fatal(err)
				}
				r.Stack = "other"
				if *e, err = audit.Seal(r); err != nil {
					t.Fatal(err)
				}
			})
		}, "4: it belongs to team/other"},
		"a record is no JSON": {func(t *testing.T, s *blob.Store) {
			if err := s.PutBytes(t.Context(), key("team", "vpc", 3), []byte("{")); err != nil {
				t.Fatal(err)
			}
		}, "3: it cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			l := &Ledger{Store: store}
			add(t, l, decision("p1", "Held"))
			add(t, l, approval("p1", "ann"))
			add(t, l, approval("p1", "bob"))
			head := add(t, l, decision("p1", "Approved"))
			test.damage(t, store)
			c := read(t, l)
			got := problems(c.Verify(head))
			if want := strings.ReplaceAll(test.want, "HEAD", head.Digest); !strings.HasPrefix(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			// Whatever happened, the log goes on, and the damage is not covered.
			next := add(t, l, decision("p2", "Freed"))
			if next.Number != 5 {
				t.Errorf("the next record is %v", next)
			}
			c = read(t, l)
			if after := problems(c.Verify(head)); after == "" || after[0] != got[0] {
				t.Errorf("afterwards: %s", after)
			}
		})
	}
}

// A store that fails lets nothing be recorded, and what it may have stored is found.
func TestAStoreThatFails(t *testing.T) {
	store := &failing{Store: newStore(t), after: true}
	l := &Ledger{Store: store}
	if _, err := l.Append(t.Context(), decision("p1", "Held")); err == nil || !strings.Contains(err.Error(), "audit log of team/vpc") {
		t.Errorf("an answer that was lost: %v", err)
	}
	store.after = false
	if head := add(t, l, decision("p1", "Held")); head.Number != 1 {
		t.Errorf("the second attempt is %v", head)
	}
}

// failing stores, and its answer is lost.
type failing struct {
	Store
	after bool
}

func (f *failing) Create(ctx context.Context, key string, data []byte) error {
	err := f.Store.Create(ctx, key, data)
	if f.after {
		return errors.New("connection reset")
	}
	return err
}

func remove(t *testing.T, s *blob.Store, number int64) {
	t.Helper()
	if err := s.Delete(t.Context(), key("team", "vpc", number)); err != nil {
		t.Fatal(err)
	}
}

func rewrite(t *testing.T, s *blob.Store, number int64, change func(*audit.Entry)) {
	t.Helper()
	data, err := s.Get(t.Context(), key("team", "vpc", number), maxEntry)
	if err != nil {
		t.Fatal(err)
	}
	var e audit.Entry
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	change(&e)
	if data, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	if err := s.PutBytes(t.Context(), key("team", "vpc", number), data); err != nil {
		t.Fatal(err)
	}
}
