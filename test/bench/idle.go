// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// measureIdle measures the load of an idle Yuba.
func (b *bench) measureIdle(ctx context.Context) (err error) {
	y, err := b.start(ctx, b.directory("idle"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	if err := pause(ctx, b.settle); err != nil {
		return err
	}
	before, err := y.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, b.idle); err != nil {
		return err
	}
	after, err := y.cpu()
	if err != nil {
		return err
	}
	took := time.Since(began)
	server, err := memoryOf(y.cmd.Process.Pid)
	if err != nil {
		return err
	}
	runner, err := memoryOf(y.runner)
	if err != nil {
		return err
	}
	const mb = 1e6
	b.results = append(b.results,
		result{Name: "idle-memory", Unit: "MB", Trials: 1, Value: float64(server.resident+runner.resident) / mb,
			What: fmt.Sprintf("idle memory, resident (server %.0f, runner %.0f)", float64(server.resident)/mb, float64(runner.resident)/mb)},
		result{Name: "idle-memory-proportional", Unit: "MB", Trials: 1, Value: float64(server.proportional+runner.proportional) / mb,
			What: "idle memory, shared pages counted once"},
		result{Name: "idle-cpu", Unit: "%", Trials: 1, Value: 100 * (after - before).Seconds() / took.Seconds(),
			What: fmt.Sprintf("idle CPU, of one core over %s", took.Round(time.Second))})
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
