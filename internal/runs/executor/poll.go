// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// poll answers a runner when there is something to report, at the latest after run.PollWait.
func (d *dispatch) poll(ctx context.Context, req run.PollRequest) run.PollResponse {
	req.Home = cmp.Or(req.Home, run.HomeLocal)
	var h *home
	d.hand.locked(func() { h = d.homes.heard(req) })
	defer d.hand.locked(func() { h.answered(req.Runner) })
	forget := d.settle(ctx, &req)
	deadline := time.NewTimer(run.PollWait)
	defer deadline.Stop()
	for {
		d.hand.mu.Lock()
		resp := d.answer(req)
		changed := d.hand.changed
		d.hand.mu.Unlock()
		resp.Runs = d.keepOwners(ctx, req.Home, resp.Runs)
		resp.Forget = forget
		if len(resp.Runs)+len(resp.Cancel)+len(resp.Forget)+len(resp.Remove) > 0 || resp.Drain || req.Draining {
			return resp
		}
		select {
		case <-changed:
		case <-deadline.C:
			return resp
		case <-ctx.Done():
			return resp
		}
	}
}

// maxRemove limits the deleted stacks in an answer. The next poll repeats them.
const maxRemove = 500

// answer collects the content of a poll's answer. hand.mu is held.
func (d *dispatch) answer(req run.PollRequest) run.PollResponse {
	late := d.homes.of(req.Home).lease.Left(req.Runner) // in case it still works: a home has one runner
	resp := run.PollResponse{Drain: d.draining || late || d.dismiss(req)}
	if req.Home == run.HomeLocal { // the end of any other home removes its working directories
		resp.Remove = slices.Clone(d.homes.deleted[:min(len(d.homes.deleted), maxRemove)])
	}
	for _, id := range req.Active {
		en := d.hand.runs[id]
		if en == nil || en.owner.Home != req.Home || en.stopped == "" && !(en.canceled && en.revocable()) {
			continue
		}
		resp.Cancel = append(resp.Cancel, id)
		if en.stopped != "" {
			if resp.Stop == nil {
				resp.Stop = map[string]string{}
			}
			resp.Stop[id] = en.stopped
		}
	}
	if resp.Drain {
		return resp
	}
	place, ours := d.opts.Backend.Place(req.Home)
	if !ours {
		return resp
	}
	for range req.Capacity {
		it, ok := d.hand.queue.Next(time.Now(), place)
		if !ok {
			break
		}
		en := d.hand.runs[it.ID]
		// Lines of an earlier runner would mix with the new log.
		if err := en.log.Reset(); err != nil {
			d.putBack(en, err)
			break
		}
		en.owner = lease.Owner{Home: req.Home, Runner: req.Runner}
		resp.Runs = append(resp.Runs, run.Assignment{ID: en.id, Token: en.token, Spec: en.spec})
	}
	return resp
}

// putBack queues a run that could not be handed out. hand.mu is held.
func (d *dispatch) putBack(en *entry, err error) {
	d.opts.Log.Error("cannot hand out a run", "stack", en.stack.String(), "run", en.id, "error", err)
	en.owner = lease.Owner{}
	d.hand.wait(en)
}

// keepOwners records the home of runs, so that a new server does not hand them to another home. It
// returns the recorded runs. The local home is the default and needs no write.
func (d *dispatch) keepOwners(ctx context.Context, home string, runs []run.Assignment) []run.Assignment {
	if home == run.HomeLocal {
		return runs
	}
	return slices.DeleteFunc(runs, func(a run.Assignment) bool {
		en := d.hand.byID(a.ID)
		if en == nil {
			return true
		}
		err := d.keepOwner(ctx, en, home)
		if err != nil {
			d.hand.locked(func() { d.putBack(en, err) })
		}
		return err != nil
	})
}

func (d *dispatch) keepOwner(ctx context.Context, en *entry, home string) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	rec := en.record()
	if en.over || rec.Quiet { // a restarted server does not look for it
		return nil
	}
	var owner lease.Owner
	d.hand.locked(func() { owner = en.owner })
	if owner.Home != home { // it was given up meanwhile
		return nil
	}
	rec.Home = home
	return en.keep(ctx, d.ending.records, rec)
}

// dismiss reports whether this server would not start such a runner. hand.mu is held.
func (d *dispatch) dismiss(req run.PollRequest) bool {
	if d.opts.Backend.Starts(req.Build) {
		return false
	}
	if h := d.homes.of(req.Home); h.dismissed != req.Runner {
		h.dismissed = req.Runner
		d.opts.Log.Warn("an earlier server's runner has another version or other options: it finishes its runs, and other runs wait until it has exited",
			"runner", req.Runner, "version", req.Version, "runs", strings.Join(req.Active, " "))
	}
	return true
}

// begin records that a runner has the run: the first request with the run's token shows it.
func (d *dispatch) begin(en *entry) {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.record().Started != nil {
		return
	}
	now := time.Now().UTC()
	d.hand.mu.Lock()
	defer d.hand.mu.Unlock()
	d.hand.queue.Remove(en.id)
	if en.owner.Home == "" && !en.held { // handed out by an earlier server; without a record, to the local home
		en.owner.Home = run.HomeLocal
	}
	en.started = true
	home := en.owner.Home
	if home == run.HomeLocal {
		home = "" // as records name it
	}
	// Stored with the run's next record. Until then a new server learns it from the runners.
	en.change(func(rec *run.Record) { rec.Started, rec.Runner, rec.Home = &now, en.owner.Runner, home })
}
