// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

const (
	// relayGrace is how long a program may outlive its relay: both end together, in no order.
	relayGrace = 2 * time.Second
	relayLook  = 50 * time.Millisecond
)

// watchRelay reports the early end of the relay of a program that an earlier runner started, which was
// the relay's parent.
func (g *Supervisor) watchRelay(program *process.Record) {
	if program == nil || program.Relay == nil {
		return
	}
	relay := process.Adopt(program.Relay, g.run.Spec.Limits, g.run.Log.Note) // nil if it has ended
	go func() {
		if relay != nil {
			relay.Wait()
		}
		for until := time.Now().Add(relayGrace); time.Now().Before(until); time.Sleep(relayLook) {
			if !program.Alive() {
				return
			}
		}
		if g.run.NetworkEnded() { // the earlier runner has reported it
			return
		}
		report, err := g.run.OpenReport()
		if err != nil || report == nil {
			return // the program's own errors are all that is left to say
		}
		defer report.Close()
		confinement.ReportRelayEnd(report, "an earlier runner had started it, so its exit status is unknown")
	}()
}
