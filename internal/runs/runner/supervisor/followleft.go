// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"math"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// FollowLeft follows an apply that an earlier runner started to its end. p is nil when the process has ended.
func (g *Supervisor) FollowLeft(p *process.Process) (*plan.Stream, process.Exit, error) {
	g.run.Processes.Add(1)
	defer g.run.Processes.Add(-1)
	if p != nil && g.Direct { // before a wish to stop can reach it
		p.Begun = g.beginning()
		g.Begun.Store(g.hadBegun())
	}
	g.run.Stop.Attach(p)
	f, err := g.follow(run.StepApply, g.run.Spec.Backend.Kind == run.BackendManaged, false)
	if err != nil {
		if p != nil { // its state is taken when it has ended
			p.Wait()
			g.run.Stop.Attach(nil)
		}
		return nil, process.Exit{}, err
	}
	if g.run.Journal.Process.Step != run.StepApply { // a later step had begun: the log has all of the apply
		f.out.known, f.errs.known = math.MaxInt, math.MaxInt
	}
	var e process.Exit
	if p != nil {
		p.WatchTime(g.run.Journal.Process.Age())
		done := g.run.Meter.Watch(g.Measured(), p, g.site.MeasuredDirs())
		e = p.Wait()
		done()
		g.run.Stop.Attach(nil)
	}
	stream := f.end()
	g.Orderly[run.StepApply] = gaveBack(run.StepApply, stream, e)
	return stream, e, nil
}

// ShipStates ships every state that is written while work runs. The log then has an apply that began.
func (g *Supervisor) ShipStates(work func() error) error {
	out, errs, err := g.outputFiles(Command{Step: run.StepApply})
	if err != nil {
		return err
	}
	out.Close()
	errs.Close()
	if err := g.BeginApply(); err != nil {
		return err
	}
	f, err := g.follow(run.StepApply, g.run.Spec.Backend.Kind == run.BackendManaged, true)
	if err != nil {
		return err
	}
	defer f.end()
	return work()
}
