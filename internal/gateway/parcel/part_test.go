// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// parts exports a content in parts of a size, and returns the merged parcel and the number of parts.
func (h *home) parts(t testing.TB, size int64) ([]byte, int) {
	t.Helper()
	var out bytes.Buffer
	n := 0
	err := parcel.Merge(t.Context(), &out, func(ctx context.Context, after string) (io.ReadCloser, error) {
		n++
		var part bytes.Buffer
		return io.NopCloser(&part), h.Write(ctx, &part, h.subject, parcel.Part{After: after, Size: size})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), n
}

// contentOf is a parcel without the times in it.
func contentOf(t testing.TB, data []byte) parcel.Summary {
	t.Helper()
	summary, err := newHome(t, "uid-b").Read(t.Context(), bytes.NewReader(data), newHome(t, "uid-b").subject)
	if err != nil {
		t.Fatal(err)
	}
	summary.Bytes = 0 // that of the header varies
	return summary
}

func TestPartsAreTheWhole(t *testing.T) {
	from := filled(t)
	whole := from.export(t)
	for size, want := range map[int64]int{1: 5, 3_000_000: 2, 1 << 30: 1} { // units: lock file, version, archive, two runs
		merged, n := from.parts(t, size)
		if n != want {
			t.Errorf("parts of %d bytes: %d, want %d", size, n, want)
		}
		if diff := cmp.Diff(contentOf(t, whole), contentOf(t, merged)); diff != "" {
			t.Errorf("parts of %d bytes (-whole +merged):\n%s", size, diff)
		}
		to := newHome(t, "uid-b")
		sent := 0
		summary, err := parcel.Split(t.Context(), bytes.NewReader(whole), size, func(ctx context.Context, part io.ReadSeeker) (parcel.Summary, error) {
			sent++
			return to.Read(ctx, part, to.subject)
		})
		if err != nil || sent != want {
			t.Errorf("sent %d parts of %d bytes, want %d: %v", sent, size, want, err)
		}
		summary.Bytes = 0
		if diff := cmp.Diff(contentOf(t, whole), summary); diff != "" {
			t.Errorf("split into parts of %d bytes (-whole +split):\n%s", size, diff)
		}
		if diff := cmp.Diff(contentOf(t, whole), contentOf(t, to.export(t))); diff != "" {
			t.Errorf("what arrived (-whole +arrived):\n%s", diff)
		}
	}
}

func TestSeriesOfPartsThatMakeNoSense(t *testing.T) {
	a, other := filled(t), filled(t)
	other.subject.Stack.UID = "uid-c"
	part := func(h *home, after string) io.ReadCloser {
		var out bytes.Buffer
		if err := h.Write(t.Context(), &out, h.subject, parcel.Part{After: after, Size: 1}); err != nil {
			t.Fatal(err)
		}
		return io.NopCloser(&out)
	}
	lost := errors.New("connection lost")
	for sentence, c := range map[string]struct {
		next func(after string) (io.ReadCloser, error)
		want string
	}{
		"always the first part": {func(string) (io.ReadCloser, error) { return part(a, ""), nil }, "the part after"},
		"another stack follows": {func(after string) (io.ReadCloser, error) {
			if after == "" {
				return part(a, ""), nil
			}
			return part(other, after), nil
		}, "replaced by another one"},
		"something else": {func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello")), nil }, "does not begin with"},
		"a lost connection": {func(after string) (io.ReadCloser, error) {
			if after == "" {
				return part(a, ""), nil
			}
			return nil, lost
		}, lost.Error()},
	} {
		err := parcel.Merge(t.Context(), io.Discard, func(_ context.Context, after string) (io.ReadCloser, error) { return c.next(after) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", sentence, err, c.want)
		}
	}
}

// Many small runs need many requests to a bucket.
func TestAPartHasFewRuns(t *testing.T) {
	from, to := newHome(t, "uid-a"), newHome(t, "uid-b")
	const runs = 120
	for i := range runs {
		id := fmt.Sprintf("20260102-030405.%03d-00000000aa", i)
		from.put(t, id, run.BlobRecord, string(recordOf(t, from.subject.Stack, id, "")))
	}
	sent := 0
	summary, err := parcel.Split(t.Context(), bytes.NewReader(from.export(t)), parcel.PartSize, func(ctx context.Context, part io.ReadSeeker) (parcel.Summary, error) {
		sent++
		return to.Read(ctx, part, to.subject)
	})
	if err != nil || sent != 3 || len(summary.Runs) != runs {
		t.Errorf("%d parts with %d runs: %v", sent, len(summary.Runs), err)
	}
}

// A parcel that ends early sends only complete parts, and the error says so.
func TestATruncatedParcelIsAnError(t *testing.T) {
	whole := filled(t).export(t)
	to := newHome(t, "uid-b")
	_, err := parcel.Split(t.Context(), bytes.NewReader(whole[:len(whole)/2]), 1, func(ctx context.Context, part io.ReadSeeker) (parcel.Summary, error) {
		return to.Read(ctx, part, to.subject)
	})
	var bad *parcel.BadError
	if !errors.As(err, &bad) {
		t.Errorf("half of a parcel: %v", err)
	}
}
