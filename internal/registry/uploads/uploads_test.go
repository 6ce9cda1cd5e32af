// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package uploads_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/uploads"
)

func begin(t *testing.T, l *uploads.Limiter, publisher string) *uploads.Upload {
	t.Helper()
	u, err := l.Begin(t.Context(), publisher)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func wantBusy(t *testing.T, err error, text string) {
	t.Helper()
	var busy *uploads.BusyError
	if !errors.As(err, &busy) || busy.Retry != 7*time.Second || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "Try again in 7s") {
		t.Errorf("%v, want %s", err, text)
	}
}

func TestPlaces(t *testing.T) {
	l := uploads.New(uploads.Limits{Places: 3, Each: 2, Patience: time.Millisecond, Retry: 7 * time.Second})
	first := begin(t, l, "eva")
	begin(t, l, "eva")
	_, err := l.Begin(t.Context(), "eva")
	wantBusy(t, err, "eva has 2 of them in progress")
	other := begin(t, l, "ben")
	_, err = l.Begin(t.Context(), "ben")
	wantBusy(t, err, "3 are in progress")
	other.End()
	first.End()
	begin(t, l, "ben")
	begin(t, l, "eva")
	gone := errors.New("the client is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := l.Begin(ctx, "eva"); !errors.Is(err, gone) {
		t.Error(err)
	}
}

func TestAnUploadWaitsForAPlaceThatBecomesFree(t *testing.T) {
	l := uploads.New(uploads.Limits{Places: 1, Patience: time.Minute})
	first := begin(t, l, "eva")
	done := make(chan error)
	go func() {
		_, err := l.Begin(t.Context(), "ben")
		done <- err
	}()
	first.End()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRoom(t *testing.T) {
	l := uploads.New(uploads.Limits{Room: 10, Retry: 7 * time.Second})
	var out bytes.Buffer
	first, second := begin(t, l, "eva"), begin(t, l, "ben")
	if _, err := first.Writer(&out).Write(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	_, err := second.Writer(&out).Write(make([]byte, 5))
	wantBusy(t, err, "together they have more than 0 MiB")
	if out.Len() != 6 {
		t.Errorf("%d bytes were written", out.Len())
	}
	first.End()
	if _, err := second.Writer(&out).Write(make([]byte, 10)); err != nil {
		t.Error(err)
	}
}

func TestReadings(t *testing.T) {
	l := uploads.New(uploads.Limits{Readings: 1})
	end, err := l.Reading(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Reading(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	end()
	if _, err := l.Reading(t.Context()); err != nil {
		t.Error(err)
	}
}
