// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"fmt"
	"testing"
	"time"
)

const aws = "hashicorp/aws"

// fleet feeds results of runs to a book.
type fleet struct {
	t    *testing.T
	book *Book
	now  time.Time
	runs int
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	return &fleet{t: t, book: &Book{Options: DefaultOptions()}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func stackNo(namespace string, n int) Stack {
	return Stack{Namespace: namespace, Name: fmt.Sprintf("s%03d", n), UID: fmt.Sprintf("%s-%d", namespace, n)}
}

// unavailable is the failure of a provider that is down.
var unavailable = Failure{Summary: "reading EC2 VPC", Detail: "dial tcp: lookup ec2.example.com: no such host", Address: "aws_vpc.main"}

var refused = Failure{Summary: "creating IAM Role", Detail: "api error AccessDenied: not yours", Address: "aws_iam_role.app"}

func (f *fleet) end(s Stack, change func(*Ended)) bool {
	f.t.Helper()
	f.runs++
	e := Ended{Stack: s, Run: fmt.Sprint(f.runs), At: f.now, Cost: time.Second, Providers: []string{aws}, Program: "sha256:one", Proven: true}
	change(&e)
	return f.book.Observe(e, f.now)
}

func (f *fleet) fine(s Stack) { f.t.Helper(); f.end(s, func(e *Ended) { e.Succeeded = true }) }

func (f *fleet) fails(s Stack, with Failure, changes ...func(*Ended)) {
	f.t.Helper()
	f.end(s, func(e *Ended) {
		e.Failure = &with
		for _, change := range changes {
			change(e)
		}
	})
}

// each calls do for the stacks numbered from up to before to.
func each(namespace string, from, to int, do func(Stack)) {
	for n := from; n < to; n++ {
		do(stackNo(namespace, n))
	}
}

func (f *fleet) failing(namespace string, from, to int) {
	f.t.Helper()
	each(namespace, from, to, func(s Stack) { f.fails(s, unavailable) })
}

func (f *fleet) after(d time.Duration) *fleet { f.now = f.now.Add(d); return f }

// tick lets time pass and returns the stacks to probe.
func (f *fleet) tick(d time.Duration) []Stack {
	probes, _ := f.ticks(d)
	return probes
}

// ticks also returns the stacks that are no longer paused.
func (f *fleet) ticks(d time.Duration) (probes, free []Stack) {
	f.now = f.now.Add(d)
	_, probes, free = f.book.Tick(f.now)
	return probes, free
}

// open is the one open circuit; nil without one.
func (f *fleet) open() *Circuit {
	f.t.Helper()
	var open *Circuit
	for _, c := range f.book.Circuits() {
		if c.IsOpen() {
			if open != nil {
				f.t.Fatalf("two circuits are open: %s and %s", open.Name, c.Name)
			}
			open = c
		}
	}
	return open
}

func (f *fleet) mustOpen() *Circuit {
	f.t.Helper()
	c := f.open()
	if c == nil {
		f.t.Fatal("no circuit is open")
	}
	return c
}

// probe waits for the next probe.
func (f *fleet) probe() Stack {
	f.t.Helper()
	wake := f.tick(max(0, f.mustOpen().ProbeAt.Sub(f.now)))
	if len(wake) != 1 {
		f.t.Fatalf("%d stacks are to be probed, want one", len(wake))
	}
	return wake[0]
}
