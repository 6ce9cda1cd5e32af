// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io"
	"log/slog"
	"net"
	"slices"
	"testing"

	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// A machine reaches any replica through the Service, and calls home once: a replica that waits passes its call on.
func TestAReplicaThatWaitsPassesCallsHomeOn(t *testing.T) {
	// The leader has the same port at another address.
	leader, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close() //nolint:errcheck // nothing is lost
	_, port, err := net.SplitHostPort(leader.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if conn, err := leader.Accept(); err == nil {
			io.WriteString(conn, "leader") //nolint:errcheck // the test notices
			conn.Close()                   //nolint:errcheck // the test notices
		}
	}()
	opts := &ControllerOptions{Common: Common{CallHome: CallHomeOptions{Address: net.JoinHostPort("127.0.0.1", port)}}}
	if !slices.Contains(opts.passedOn(), opts.CallHome.Address) {
		t.Fatalf("only %v are passed on", opts.passedOn())
	}
	limits, err := listener.NewBudget()
	if err != nil {
		t.Fatal(err)
	}
	s, err := standBy(limits.Share(50), slog.New(slog.DiscardHandler), opts.CallHome.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	s.leader.Store("127.0.0.2")
	conn, err := net.Dial("tcp", opts.CallHome.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is lost
	if text, err := io.ReadAll(conn); err != nil || string(text) != "leader" {
		t.Errorf("the call has the answer %q: %v", text, err)
	}
}
