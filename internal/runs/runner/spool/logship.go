// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

const (
	// shipDelay groups lines: fast enough for users, with at most four requests a second.
	shipDelay = 250 * time.Millisecond
	shipBytes = 64 << 10
	// shipChunk limits one request.
	shipChunk = 1 << 20
)

// LogShipper sends a run's log to the server as it grows.
type LogShipper struct {
	log *Log
	// changing reports whether a direct apply has begun to change something. Log requests carry it.
	changing func() bool
	exchange func(context.Context, link.Request) (int, error)

	position int64
	known    bool
	unwanted bool
	now      chan struct{}
	finish   chan struct{}
	done     chan struct{}
}

// ShipLog sends the log until the shipper is closed. fresh: the server has nothing of it yet.
func ShipLog(ctx context.Context, log *Log, fresh bool, changing func() bool, exchange func(context.Context, link.Request) (int, error)) *LogShipper {
	s := &LogShipper{log: log, changing: changing, exchange: exchange, known: fresh, now: make(chan struct{}, 1), finish: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.loop(ctx)
	}()
	return s
}

// Hurry sends the current content without waiting for more.
func (s *LogShipper) Hurry() {
	select {
	case s.now <- struct{}{}:
	default:
	}
}

// Close returns when the server has everything, or the context of ShipLog ended.
func (s *LogShipper) Close() {
	close(s.finish)
	<-s.done
}

func (s *LogShipper) loop(ctx context.Context) {
	for {
		select {
		case <-s.log.grown:
			s.gather(ctx)
		case <-s.now:
		case <-s.finish:
			s.ship(ctx)
			return
		case <-ctx.Done():
			return
		}
		s.ship(ctx)
	}
}

// gather waits a moment for more lines.
func (s *LogShipper) gather(ctx context.Context) {
	timer := time.NewTimer(shipDelay)
	defer timer.Stop()
	for s.log.Length()-s.position < shipBytes {
		select {
		case <-s.log.grown:
		case <-timer.C:
			return
		case <-s.now:
			return
		case <-s.finish:
			return
		case <-ctx.Done():
			return
		}
	}
}

// ship sends everything that the log has now.
func (s *LogShipper) ship(ctx context.Context) {
	if !s.known && !s.unwanted {
		var position run.LogPosition
		if _, err := s.exchange(ctx, link.Request{Method: http.MethodGet, Path: "/log", Into: &position}); err != nil {
			s.unwanted = link.Refused(err) != 0
			return
		}
		s.position, s.unwanted, s.known = position.Offset, position.Full, true
	}
	for !s.unwanted && ctx.Err() == nil {
		size := s.log.Length()
		if s.position > size { // the server has another log, which we cannot take back
			s.position = size
		}
		if s.position == size {
			return
		}
		chunk := make([]byte, min(size-s.position, shipChunk))
		n, err := s.log.file.ReadAt(chunk, s.position)
		if n == 0 && err != nil {
			return
		}
		header := map[string]string{run.HeaderOffset: fmt.Sprint(s.position)}
		if s.changing() {
			header[run.HeaderChanging] = "true"
		}
		var position run.LogPosition
		_, err = s.exchange(ctx, link.Request{Method: http.MethodPut, Path: "/log", Body: chunk[:n], Into: &position, Header: header})
		if err != nil {
			s.unwanted = link.Refused(err) != 0
			return
		}
		s.position, s.unwanted = position.Offset, position.Full
	}
}
