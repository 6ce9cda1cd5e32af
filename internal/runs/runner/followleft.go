// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"math"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// followLeft follows an apply that an earlier runner started to its end. p is nil when the process has ended.
func (g *supervisor) followLeft(p *process.Process) (*plan.Stream, process.Exit, error) {
	g.task.processes.Add(1)
	defer g.task.processes.Add(-1)
	if p != nil && g.direct { // before a wish to stop can reach it
		p.Begun = g.beginning()
		g.begun.Store(g.hadBegun())
	}
	g.task.stop.attach(p)
	f, err := g.follow(run.StepApply, g.task.spec.Backend.Kind == run.BackendManaged, false)
	if err != nil {
		if p != nil { // its state is taken when it has ended
			p.Wait()
			g.task.stop.attach(nil)
		}
		return nil, process.Exit{}, err
	}
	if g.task.Journal.Process.Step != run.StepApply { // a later step had begun: the log has all of the apply
		f.out.known, f.errs.known = math.MaxInt, math.MaxInt
	}
	var e process.Exit
	if p != nil {
		p.WatchTime(g.task.Journal.Process.Age())
		done := g.task.meter.Watch(g.measured(), p, g.site.measuredDirs())
		e = p.Wait()
		done()
		g.task.stop.attach(nil)
	}
	stream := f.end()
	g.orderly[run.StepApply] = gaveBack(run.StepApply, stream, e)
	return stream, e, nil
}

// shipStates ships every state that is written while work runs. The log then has an apply that began.
func (g *supervisor) shipStates(work func() error) error {
	out, errs, err := g.outputFiles(command{step: run.StepApply})
	if err != nil {
		return err
	}
	out.Close()
	errs.Close()
	if err := g.beginApply(); err != nil {
		return err
	}
	f, err := g.follow(run.StepApply, g.task.spec.Backend.Kind == run.BackendManaged, true)
	if err != nil {
		return err
	}
	defer f.end()
	return work()
}
