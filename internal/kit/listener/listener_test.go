// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// from is a connection from an address.
type from struct {
	net.Conn
	address net.Addr
	ended   atomic.Bool
}

func (c *from) RemoteAddr() net.Addr { return c.address }
func (c *from) Close() error         { c.ended.Store(true); return nil }
func (c *from) Read([]byte) (int, error) {
	return 1, nil
}

// queue is a listener whose connections are given.
type queue struct {
	net.Listener
	next chan any
}

func (q *queue) Accept() (net.Conn, error) {
	switch next := (<-q.next).(type) {
	case *from:
		return next, nil
	case error:
		return nil, next
	}
	return nil, net.ErrClosed
}

// world is a listener and what came to it.
type world struct {
	*testing.T
	queue *queue
	l     *Listener
	ports int
}

func newWorld(t *testing.T, limits Limits) *world {
	q := &queue{next: make(chan any, 100)}
	l := New(q, limits)
	l.grace = 0
	return &world{T: t, queue: q, l: l}
}

// connect makes a connection from an IP, and waits until it was accepted or turned away.
func (w *world) connect(ip string) (*from, net.Conn) {
	w.Helper()
	w.ports++
	c := &from{address: &net.TCPAddr{IP: net.ParseIP(ip), Port: w.ports}}
	w.queue.next <- c
	w.queue.next <- errors.New("nothing more")
	accepted, err := w.l.Accept()
	if err == nil {
		<-w.queue.next
	}
	time.Sleep(time.Millisecond) // of two connections, one is older
	return c, accepted
}

func (w *world) ended(want string, all ...*from) {
	w.Helper()
	var got strings.Builder
	for i, c := range all {
		if c.ended.Load() {
			fmt.Fprint(&got, i)
		}
	}
	if got.String() != want {
		w.Errorf("ended are the connections %q, want %q", got.String(), want)
	}
}

func TestTheOneThatIsSilentForLongestGivesWay(t *testing.T) {
	w := newWorld(t, Limits{Total: 3, PerAddress: 3})
	a, first := w.connect("192.0.2.1")
	b, _ := w.connect("192.0.2.1")
	c, _ := w.connect("192.0.2.1")
	if _, err := first.Read(nil); err != nil {
		t.Fatal(err)
	}
	d, _ := w.connect("192.0.2.1")
	w.ended("1", a, b, c, d)
	e, _ := w.connect("192.0.2.1")
	w.ended("12", a, b, c, d, e)
}

func TestWhoIsKnownNeverGivesWay(t *testing.T) {
	w := newWorld(t, Limits{Total: 3, PerAddress: 3})
	a, _ := w.connect("192.0.2.1")
	b, _ := w.connect("192.0.2.1")
	w.l.Know(a.address.String())
	w.l.Know(b.address.String())
	for range 10 {
		w.connect("192.0.2.1")
	}
	w.ended("", a, b)
	c, third := w.connect("192.0.2.1")
	w.l.Know(c.address.String())
	if d, accepted := w.connect("192.0.2.1"); accepted != nil || !d.ended.Load() {
		t.Error("one is taken although all places are of those who are known")
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	if _, accepted := w.connect("192.0.2.1"); accepted == nil {
		t.Error("none is taken although there is a place")
	}
}

func TestAnAddressHasItsShare(t *testing.T) {
	for sentence, test := range map[string]struct {
		one, other string
		shared     bool
	}{
		"addresses of IPv4 are for themselves": {"192.0.2.1", "192.0.2.2", false},
		"a network of IPv6 is one address":     {"2001:db8::1", "2001:db8::ffff", true},
		"networks of IPv6 are for themselves":  {"2001:db8::1", "2001:db8:0:1::1", false},
		"IPv4 in IPv6 is IPv4":                 {"::ffff:192.0.2.1", "192.0.2.1", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, Limits{Total: 10, PerAddress: 2})
			a, _ := w.connect(test.one)
			b, _ := w.connect(test.one)
			c, _ := w.connect(test.other)
			w.ended(map[bool]string{true: "0", false: ""}[test.shared], a, b, c)
		})
	}
}

func TestThisMachineIsOneAddressAndMayTakeAllPlaces(t *testing.T) {
	w := newWorld(t, Limits{Total: 4, PerAddress: 1})
	var all []*from
	for _, ip := range []string{"127.0.0.1", "127.1.2.3", "::1", "127.0.0.1"} {
		c, _ := w.connect(ip)
		all = append(all, c)
	}
	w.ended("", all...)
	// Somebody else is let in at the cost of who has most.
	c, accepted := w.connect("192.0.2.1")
	if accepted == nil {
		t.Error("another address is not let in")
	}
	w.ended("0", append(all, c)...)
}

func TestConnectionsHaveTimeToShowCredentials(t *testing.T) {
	w := newWorld(t, Limits{Total: 1, PerAddress: 1})
	w.l.grace = 200 * time.Millisecond
	began := time.Now()
	a, _ := w.connect("192.0.2.1")
	b, _ := w.connect("192.0.2.1")
	if took := time.Since(began); took < w.l.grace {
		t.Errorf("the first one gave way after %s", took)
	}
	w.ended("0", a, b)
}

func TestFilesThatRunOut(t *testing.T) {
	w := newWorld(t, Limits{Total: 10, PerAddress: 10})
	a, _ := w.connect("192.0.2.1")
	b, _ := w.connect("192.0.2.1")
	c, _ := w.connect("192.0.2.1")
	w.l.Know(a.address.String())
	w.queue.next <- &net.OpError{Err: syscall.EMFILE}
	if _, err := w.l.Accept(); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("error %v", err)
	}
	w.ended("1", a, b, c)
}

func TestHangUp(t *testing.T) {
	w := newWorld(t, Limits{Total: 10, PerAddress: 10})
	a, _ := w.connect("192.0.2.1")
	b, _ := w.connect("192.0.2.2")
	w.l.Know(a.address.String())
	w.l.HangUp()
	w.ended("01", a, b)
	if c, accepted := w.connect("192.0.2.1"); accepted == nil || c.ended.Load() || len(w.l.open) != 1 {
		t.Errorf("afterwards %d are open", len(w.l.open))
	}
}

func TestBudget(t *testing.T) {
	if _, err := budgetOf(256); err == nil || !strings.Contains(err.Error(), "this process may open 256 files, but needs 512") {
		t.Errorf("error %v", err)
	}
	for files, want := range map[uint64]int{512: 96, 1024: 480, 20000: 14712, 1 << 30: 16384} {
		budget, err := budgetOf(files)
		if err != nil || budget.connections != want {
			t.Errorf("%d files: %d connections, error %v, want %d", files, budget.connections, err, want)
		}
		if budget.connections+reserved > int(files) {
			t.Errorf("%d files: nothing is left", files)
		}
	}
	if budget, err := NewBudget(); err != nil || budget.Share(50).Total < 8 {
		t.Errorf("the limits here are %+v, error %v", budget.Share(50), err)
	}
}
