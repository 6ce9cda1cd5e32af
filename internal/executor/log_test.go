// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/executor"
	"github.com/yuba-dev/yuba/internal/run"
)

func permitWith(look func(run.Record)) func(run.Record) (executor.Permission, error) {
	return func(rec run.Record) (executor.Permission, error) {
		look(rec)
		return executor.Permission{Go: true}, nil
	}
}

func (h *home) sendLog(id string, offset int, data string) run.LogPosition {
	h.t.Helper()
	return decoded[run.LogPosition](h, h.mustDo(http.StatusOK,
		h.of(id, "PUT", "/log", []byte(data)).with(run.HeaderOffset, strconv.Itoa(offset))))
}

func TestLogsAreTakenUpWhereTheyWereLeft(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	for _, step := range []struct {
		sentence string
		offset   int
		data     string
		want     run.LogPosition
	}{
		{"the beginning", 0, "hello", run.LogPosition{Offset: 5}},
		{"the same again", 0, "hello", run.LogPosition{Offset: 5}},
		{"an overlap", 3, "lo, wor", run.LogPosition{Offset: 10}},
		{"a gap adds nothing", 12, "???", run.LogPosition{Offset: 10}},
		{"the rest", 10, "ld", run.LogPosition{Offset: 12}},
		{"nothing", 12, "", run.LogPosition{Offset: 12}},
		{"up to the limit", 12, strings.Repeat("x", 2000), run.LogPosition{Offset: 1000, Full: true}},
		{"more than the limit", 1000, "y", run.LogPosition{Offset: 1000, Full: true}},
	} {
		if diff := cmp.Diff(step.want, h.sendLog("r1", step.offset, step.data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.sentence, diff)
		}
	}
	if got := decoded[run.LogPosition](h, h.mustDo(http.StatusOK, h.of("r1", "GET", "/log"))); got.Offset != 1000 {
		t.Errorf("position %+v", got)
	}
	want := "hello, world" + strings.Repeat("x", 988)
	if got := h.log("r1", false); got != want {
		t.Errorf("log in hand %q", got)
	}
	h.finish("r1", succeeded())
	if got := h.log("r1", true); got != want {
		t.Errorf("log kept %q", got)
	}
}

func TestWhoFollowsALogHearsItsEnd(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	r, w := io.Pipe()
	followed := make(chan error, 1)
	go func() {
		err := h.exec.WriteLog(t.Context(), h.stack, "r1", true, w)
		w.Close()
		followed <- err
	}()
	h.sendLog("r1", 0, "one")
	heard := make([]byte, 3)
	if _, err := io.ReadFull(r, heard); err != nil || string(heard) != "one" {
		t.Fatalf("heard %q, %v", heard, err)
	}
	h.sendLog("r1", 3, "two")
	h.finish("r1", succeeded())
	rest, err := io.ReadAll(r)
	if err != nil || string(rest) != "two" {
		t.Errorf("heard %q, %v", rest, err)
	}
	if err := <-followed; err != nil {
		t.Error(err)
	}
}

func TestAFollowerMayLeave(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.exec.WriteLog(ctx, h.stack, "r1", true, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := h.exec.WriteLog(t.Context(), h.stack, "never", true, io.Discard); !errors.Is(err, run.ErrNotFound) {
		t.Error(err)
	}
}
