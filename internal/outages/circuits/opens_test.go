// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhatOpensACircuit(t *testing.T) {
	unproven := func(e *Ended) { e.Proven = false }
	for sentence, c := range map[string]struct {
		happens    func(f *fleet)
		open       bool
		namespaces []string
	}{
		"nothing": {func(*fleet) {}, false, nil},
		"one team's failures after a start that knows of no other": {func(f *fleet) {
			f.failing("a", 0, 50)
		}, true, []string{"a"}},
		"four stacks that fail alike": {func(f *fleet) { f.failing("a", 0, 4) }, false, nil},
		"five stacks that fail alike": {func(f *fleet) { f.failing("a", 0, 5) }, true, []string{"a"}},
		"one stack that fails a dozen times": {func(f *fleet) {
			for range 12 {
				f.failing("a", 0, 1)
			}
		}, false, nil},
		"five of a thousand that are fine": {func(f *fleet) {
			each("a", 0, 500, f.fine)
			f.after(time.Minute).failing("a", 0, 2)
			each("a", 500, 1000, f.fine)
			f.after(time.Minute).failing("a", 2, 5)
			each("a", 500, 1000, f.fine)
		}, false, nil},
		"an outage after a thousand were fine": {func(f *fleet) {
			each("a", 0, 1000, f.fine)
			f.after(time.Minute).failing("a", 0, 5)
		}, true, []string{"a"}},
		"five that fail on and on while the others rest": {func(f *fleet) {
			for n := range 5 {
				f.failing("a", n, n+1)
				f.after(6*time.Minute).failing("a", 0, n)
			}
			f.after(time.Minute).failing("a", 0, 5)
		}, false, nil},
		"five over a day": {func(f *fleet) {
			for n := range 5 {
				f.after(time.Hour).failing("a", n, n+1)
			}
		}, false, nil},
		"one team's credentials, and others who use the provider are fine": {func(f *fleet) {
			each("b", 0, 20, f.fine)
			f.after(time.Second)
			each("a", 0, 6, func(s Stack) {
				f.fails(s, Failure{Summary: "configuring", Detail: "ExpiredToken: it has expired", Address: `provider["registry.opentofu.org/hashicorp/aws"]`})
			})
		}, true, []string{"a"}},
		"failures in two namespaces": {func(f *fleet) {
			each("c", 0, 20, f.fine)
			f.after(time.Second).failing("a", 0, 3)
			f.failing("b", 0, 3)
		}, true, nil},
		"a broken commit of a module that all share": {func(f *fleet) {
			each("a", 0, 50, func(s Stack) { f.fails(s, refused, unproven) })
		}, false, nil},
		"what worked before is refused": {func(f *fleet) {
			each("a", 0, 5, func(s Stack) { f.fails(s, refused) })
		}, true, []string{"a"}},
		"unrelated programs are refused": {func(f *fleet) {
			each("a", 0, 5, func(s Stack) { f.fails(s, refused, unproven, func(e *Ended) { e.Program = s.Name }) })
		}, true, []string{"a"}},
		"one program that has not worked yet, and nothing answers": {func(f *fleet) {
			each("a", 0, 5, func(s Stack) { f.fails(s, unavailable, unproven) })
		}, true, []string{"a"}},
		"runs that end for reasons of their own": {func(f *fleet) {
			each("a", 0, 50, func(s Stack) { f.end(s, func(*Ended) {}) })
		}, false, nil},
		"different providers": {func(f *fleet) {
			each("a", 0, 8, func(s Stack) {
				f.fails(s, unavailable, func(e *Ended) { e.Providers = []string{fmt.Sprintf("%s/aws", s.Name)} })
			})
		}, false, nil},
		"switched off": {func(f *fleet) {
			f.book.Options.Stacks = 0
			f.failing("a", 0, 50)
		}, false, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFleet(t)
			c.happens(f)
			open := f.open()
			if (open != nil) != c.open {
				t.Fatalf("open is %v, want %v", open != nil, c.open)
			}
			if open != nil && !slices.Equal(open.Namespaces, c.namespaces) {
				t.Errorf("it is about %q, want %q", open.Namespaces, c.namespaces)
			}
		})
	}
}

// Different resources, wordings and steps are still one circuit.
func TestOneOutageIsOneCircuit(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 6)
	each("a", 6, 40, func(s Stack) {
		f.fails(s, Failure{Summary: "deleting S3 Bucket " + s.Name, Detail: "something odd", Address: "module.x.aws_s3_bucket.b"})
	})
	each("b", 0, 10, func(s Stack) { f.fails(s, refused) })
	c := f.mustOpen()
	if len(f.book.Circuits()) != 1 || c.Affected != 50 || c.Failing() != 50 {
		t.Errorf("%d circuits, %d affected, %d failing", len(f.book.Circuits()), c.Affected, c.Failing())
	}
}

// A circuit of one namespace grows when the outage does.
func TestACircuitGetsWider(t *testing.T) {
	f := newFleet(t)
	each("b", 0, 20, f.fine)
	f.after(time.Second).failing("a", 0, 5)
	if c := f.mustOpen(); !slices.Equal(c.Namespaces, []string{"a"}) {
		t.Fatalf("it is about %q", c.Namespaces)
	}
	f.after(time.Second).failing("b", 0, 4)
	if c := f.mustOpen(); !slices.Equal(c.Namespaces, []string{"a"}) {
		t.Fatalf("four failures elsewhere made it be about %q", c.Namespaces)
	}
	f.after(time.Second).failing("b", 4, 5)
	c := f.mustOpen()
	if len(c.Namespaces) != 0 || c.Affected != 10 {
		t.Errorf("it is about %q with %d stacks", c.Namespaces, c.Affected)
	}
}

// A circuit of all namespaces closes or shrinks as soon as most other stacks succeed.
func TestACircuitGetsSmallerWhenOthersAreFine(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 3)
	f.failing("b", 0, 3)
	if c := f.mustOpen(); len(c.Namespaces) != 0 {
		t.Fatalf("it is about %q", c.Namespaces)
	}
	f.after(time.Second)
	each("b", 10, 30, f.fine)
	f.tick(0)
	if c := f.mustOpen(); !slices.Equal(c.Namespaces, []string{"a"}) {
		t.Errorf("it is about %q, want a alone", c.Namespaces)
	}
	each("a", 10, 30, f.fine)
	f.tick(0)
	if f.open() != nil {
		t.Error("it is still open")
	}
	// Stacks that keep failing do not count.
	for range 5 {
		f.after(time.Minute).failing("a", 0, 3)
		f.failing("b", 0, 3)
	}
	if f.open() != nil {
		t.Error("it was opened again by the same failures")
	}
}

// A tenant with two namespaces can let many stacks fail in both. Others that succeed are not
// paused.
func TestNobodyIsHeldUpForLongByFailuresElsewhere(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 100)
	f.failing("b", 0, 100)
	if c := f.mustOpen(); len(c.Namespaces) != 0 {
		t.Fatalf("it is about %q", c.Namespaces)
	}
	each("c", 0, 1, func(s Stack) { f.fails(s, unavailable) })
	f.after(time.Minute)
	each("c", 0, 1, f.fine)
	each("d", 0, 5, f.fine)
	f.tick(0)
	if c := f.mustOpen(); len(c.Namespaces) != 0 {
		t.Fatalf("nothing has failed since others were fine, which may be its end, and it is about %q", c.Namespaces)
	}
	f.after(time.Second).failing("b", 7, 8)
	f.tick(0)
	if c := f.mustOpen(); !slices.Equal(c.Namespaces, []string{"a", "b"}) {
		t.Errorf("it is about %q, want those where somebody fails", c.Namespaces)
	}
	if cover, ok := f.book.Cover(stackNo("d", 9), []string{aws}); ok {
		t.Errorf("others are held up: %+v", cover)
	}
	// The same failures, repeated, do not widen it.
	for range 5 {
		f.after(time.Minute).failing("a", 0, 100)
		f.failing("b", 0, 100)
	}
	if c := f.mustOpen(); len(c.Namespaces) != 2 {
		t.Errorf("it is about %q", c.Namespaces)
	}
}

// Stacks that a circuit no longer concerns are reconciled: nothing else would retry them.
func TestWhoIsAMemberNoMoreIsLookedAt(t *testing.T) {
	f := newFleet(t)
	f.failing("a", 0, 3)
	f.failing("b", 0, 3)
	f.after(2 * time.Second)
	each("b", 10, 30, f.fine)
	_, free := f.ticks(0)
	slices.SortFunc(free, func(a, b Stack) int { return strings.Compare(a.Name, b.Name) })
	if diff := cmp.Diff([]Stack{stackNo("b", 0), stackNo("b", 1), stackNo("b", 2)}, free); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Programs can fail with any number of texts.
func TestTheNumberOfCircuitsIsBounded(t *testing.T) {
	f := newFleet(t)
	words := func(n int) string { return string([]rune{'a' + rune(n/676%26), 'a' + rune(n/26%26), 'a' + rune(n%26)}) }
	for n := range maxCircuits + 50 {
		each("a", 0, 5, func(s Stack) {
			f.fails(s, Failure{Summary: "it failed with " + words(n), Address: "terraform_data.a"})
		})
		f.after(time.Second)
	}
	all := f.book.Circuits()
	if len(all) != maxCircuits {
		t.Fatalf("%d are remembered", len(all))
	}
	for n := range maxCircuits {
		f.book.Release(all[n].Name, f.now.Add(time.Duration(n)*time.Second))
	}
	oldest := all[0].Name
	f.after(time.Hour).failing("a", 0, 5)
	if c := f.mustOpen(); c.Kind.Provider != aws || len(f.book.Circuits()) != maxCircuits || f.book.Find(oldest) != nil {
		t.Errorf("of %d circuits %s is open, and there still is %v", len(f.book.Circuits()), c.Name, f.book.Find(oldest))
	}
}

// The incremental counts are right.
func TestEvidenceIsCountedRight(t *testing.T) {
	f := newFleet(t)
	f.book.Options.Stacks = 1000
	f.failing("a", 0, 20)
	each("a", 0, 5, f.fine)
	each("a", 5, 8, func(s Stack) { f.fails(s, refused, func(e *Ended) { e.Proven = false }) })
	each("a", 8, 10, func(s Stack) { f.book.Forget(s, f.now) })
	f.failing("a", 15, 20)
	counted := map[string]int{}
	for k, of := range f.book.evidence {
		counted[k.Cause] = len(of)
	}
	if counted[CauseUnavailable] != 10 || counted[CauseDenied] != 1 || len(counted) != 2 {
		t.Errorf("%v", counted)
	}
	each("a", 0, 20, f.fine)
	if len(f.book.evidence) != 0 {
		t.Errorf("all are fine, and there is %v", f.book.evidence)
	}
}

// A fleet ten times as large takes about ten times the work, for a broken commit and an outage.
func BenchmarkStorm(b *testing.B) {
	for _, size := range []int{300, 3000} {
		for name, with := range map[string]Failure{"broken commit": refused, "outage": unavailable} {
			b.Run(fmt.Sprintf("%s of %d", name, size), func(b *testing.B) {
				for b.Loop() {
					f := &fleet{book: &Book{Options: DefaultOptions()}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
					for n := range size {
						f.runs++
						f.book.Observe(Ended{Stack: stackNo("a", n), Run: fmt.Sprint(f.runs), At: f.now, Providers: []string{aws}, Program: "one", Failure: &with}, f.now)
					}
				}
			})
		}
	}
}
