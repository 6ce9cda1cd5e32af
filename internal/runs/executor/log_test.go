// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
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

// A program that prints 5 MB has a log six times as large, for each line comes with what the tool
// says about it. What is kept of it is not.
func TestALogIsKeptCompressed(t *testing.T) {
	h := newHome(t)
	rec := h.record("r1")
	rec.Spec.Limits.LogBytes = run.DefaultLimits().LogBytes
	h.started(rec)
	var log strings.Builder
	printed := 0
	for i := 0; printed < 5_000_000; i++ {
		text := fmt.Sprintf("%08d: %s", i, strings.Repeat("x", 40))
		printed += len(text) + 1
		fmt.Fprintf(&log, `{"@level":"info","@message":"terraform_data.a: (local-exec): %[1]s","@module":"tofu.ui","@timestamp":"2026-11-22T21:%02[2]d:%02[3]d.%06[4]dZ","hook":{"resource":{"addr":"terraform_data.a","module":"","resource":"terraform_data.a","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"a","resource_key":null},"provisioner":"local-exec","output":"%[1]s"},"type":"provision_progress"}`+"\n",
			text, i/10000%60, i/100%60, i%1000000)
	}
	whole := log.String()
	for at := 0; at < len(whole); {
		at = int(h.sendLog("r1", at, whole[at:min(len(whole), at+1<<20)]).Offset)
	}
	h.finish("r1", succeeded())
	if got := h.log("r1", false); got != whole {
		t.Errorf("what is read has %d bytes, %d were written", len(got), len(whole))
	}
	for info, err := range h.blobs.List(t.Context(), h.stack.Key("r1", run.BlobLog)) {
		if err != nil || info.Size > int64(printed)/4 {
			t.Errorf("%d bytes printed, %d logged, %d kept, %v", printed, len(whole), info.Size, err)
		}
	}
	// Earlier versions kept logs as they were.
	if err := h.blobs.PutBytes(t.Context(), h.stack.Key("r1", run.BlobLog), []byte(whole)); err != nil {
		t.Fatal(err)
	}
	if got := h.log("r1", false); got != whole {
		t.Errorf("of an earlier version %d bytes are read", len(got))
	}
}
