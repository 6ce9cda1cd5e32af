// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/platform/progress"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

const (
	// maxPlatformEvents limits a replay: the newest ones are kept.
	maxPlatformEvents = 10_000
	// maxPlatformRuns limits the runs of each stack in a replay.
	maxPlatformRuns = 50
	// platformPause is how often a stream looks for news. The phases of a bootstrap take seconds.
	platformPause = time.Second
	// maxPlatformLog limits what is read of a log at a time. The rest of it is left out, as a debug log may have
	// any size, and the log itself has its own page.
	maxPlatformLog = 4 << 20
	// maxPlatformStreams limits the readers at a time.
	maxPlatformStreams = 16
	// platformBeat is how often a stream without news sends a comment, so that proxies keep it open.
	platformBeat = 15 * time.Second
)

// platformFeed makes events of a platform: those of its phases, and the lines of the logs of its runs. Logs are
// stored, so a feed can begin at any time, also after a restart of the server.
type platformFeed struct {
	h    *Handler
	name types.NamespacedName
	last *yubav1.PlatformStatus
	// read has how many bytes of the log of each run were read; ended are the runs whose log is complete.
	read  map[string]int
	ended map[string]bool
}

func (h *Handler) platformFeed(r *http.Request) *platformFeed {
	return &platformFeed{h: h, name: types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}, read: map[string]int{}, ended: map[string]bool{}}
}

// next returns the events since the last call, by time, and the platform.
func (f *platformFeed) next(ctx context.Context) (*yubav1.Platform, []progress.Event, error) {
	p := &yubav1.Platform{}
	if err := f.h.Reader.Get(ctx, f.name, p); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil, apierrors.NewNotFound(schema.GroupResource{Group: yubav1.GroupVersion.Group, Resource: "platforms"}, f.name.String())
		}
		return nil, nil, err
	}
	var stacks infrav1.TerraformList
	if err := f.h.Reader.List(ctx, &stacks, client.InNamespace(f.name.Namespace), client.MatchingLabels{yubav1.LabelPlatform: f.name.Name}); err != nil {
		return nil, nil, fmt.Errorf("list the stacks of the platform %s: %w", f.name, err)
	}
	var events []progress.Event
	for i := range stacks.Items {
		lines, err := f.lines(ctx, &stacks.Items[i])
		if err != nil {
			return nil, nil, err
		}
		if events = append(events, lines...); len(events) > 2*maxPlatformEvents {
			events = newest(events)
		}
	}
	// What a phase has become is said after what its run said.
	events = append(events, progress.Between(f.last, &p.Status, f.h.now())...)
	f.last = p.Status.DeepCopy()
	return p, newest(events), nil
}

// newest sorts events by time, and keeps the newest ones.
func newest(events []progress.Event) []progress.Event {
	slices.SortStableFunc(events, func(a, b progress.Event) int { return a.Time.Compare(b.Time) })
	return slices.Clone(events[max(0, len(events)-maxPlatformEvents):])
}

// part keeps what follows the first bytes of a text, up to a limit.
type part struct {
	skip, dropped int
	kept          bytes.Buffer
}

// Write implements [io.Writer].
func (p *part) Write(data []byte) (int, error) {
	size := len(data)
	skipped := min(p.skip, len(data))
	p.skip -= skipped
	data = data[skipped:]
	room := min(len(data), maxPlatformLog-p.kept.Len())
	p.kept.Write(data[:room])
	p.dropped += len(data) - room
	return size, nil
}

func (h *Handler) now() time.Time { return time.Now().UTC() }

// lines are the new lines of the logs of a stack's runs.
func (f *platformFeed) lines(ctx context.Context, t *infrav1.Terraform) (events []progress.Event, err error) {
	runs, err := f.h.Runs.List(ctx, run.StackOf(t), maxPlatformRuns)
	if err != nil {
		return nil, fmt.Errorf("list the runs of %s: %w", t.Name, err)
	}
	for _, rec := range slices.Backward(runs) {
		id := rec.Spec.ID
		if f.ended[id] {
			continue
		}
		log := part{skip: f.read[id]}
		err := f.h.Runs.WriteLog(ctx, run.StackOf(t), id, false, &log)
		if errors.Is(err, run.ErrNotFound) {
			continue // it has not begun
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of the run %s: %w", id, err)
		}
		fresh := log.kept.Bytes()
		if end := bytes.LastIndexByte(fresh, '\n'); end >= 0 {
			fresh = fresh[:end+1]
		} else if rec.Result == nil {
			fresh = nil // a part of a line
		}
		f.read[id] += len(fresh) + log.dropped
		f.ended[id] = rec.Result != nil
		for line := range bytes.Lines(fresh) {
			if e, ok := eventOf(t, line); ok {
				events = append(events, e)
			}
		}
	}
	return events, nil
}

// eventOf is a line of a log as an event; ok is false for lines that say nothing.
func eventOf(t *infrav1.Terraform, line []byte) (progress.Event, bool) {
	parsed := plan.ParseEvent(line)
	message := strings.TrimSpace(parsed.Message)
	if d := parsed.Diagnostic; d != nil && d.Detail != "" {
		message += ": " + strings.TrimSpace(d.Detail)
	}
	e := progress.Event{Time: parsed.Time.UTC(), Level: progress.LevelInfo, Message: message, Component: t.Labels[yubav1.LabelPlatformComponent]}
	step := t.Labels[yubav1.LabelPlatformPhase]
	if e.Component != "" {
		step = e.Component
	}
	e.Phase = t.Labels[yubav1.LabelPlatformRegion] + "/" + step
	if parsed.Level == progress.LevelWarn || parsed.Level == progress.LevelError {
		e.Level = parsed.Level
	}
	return e, message != "" && !parsed.Time.IsZero()
}

// platformEvents serves all events until now, as JSON.
func (h *Handler) platformEvents(w http.ResponseWriter, r *http.Request) error {
	leave, err := h.enterPlatform()
	if err != nil {
		return err
	}
	defer leave()
	_, events, err := h.platformFeed(r).next(r.Context())
	if err != nil {
		return err
	}
	if events == nil {
		events = []progress.Event{}
	}
	return writeJSON(w, map[string]any{"events": events, "done": h.platformOver(r)})
}

// enterPlatform lets some readers in at a time.
func (h *Handler) enterPlatform() (leave func(), err error) {
	if h.platformReaders.Add(1) > maxPlatformStreams {
		h.platformReaders.Add(-1)
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d clients read the progress of platforms already", maxPlatformStreams), 5)
	}
	return func() { h.platformReaders.Add(-1) }, nil
}

func (h *Handler) platformOver(r *http.Request) bool {
	var p yubav1.Platform
	err := h.Reader.Get(r.Context(), types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}, &p)
	return err == nil && over(&p)
}

// over reports whether nothing more happens by itself.
func over(p *yubav1.Platform) bool {
	switch conditions.Of(p, infrav1.ConditionReady).Reason {
	case yubav1.ReasonPlatformReady, yubav1.ReasonPlatformDecommissioned:
		return p.Status.ObservedGeneration >= p.Generation
	}
	return false
}

// platformLogs serves all events, and those to come until the platform is ready, as server-sent events. The last
// one is of the type done.
func (h *Handler) platformLogs(w http.ResponseWriter, r *http.Request) error {
	leave, err := h.enterPlatform()
	if err != nil {
		return err
	}
	defer leave()
	feed := h.platformFeed(r)
	p, events, err := feed.next(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	again, beat := time.NewTicker(platformPause), time.NewTicker(platformBeat)
	defer again.Stop()
	defer beat.Stop()
	flush := http.NewResponseController(w).Flush
	for {
		for _, e := range events {
			if err := send(w, "", e); err != nil {
				return nil //nolint:nilerr // the client is gone
			}
		}
		if over(p) {
			send(w, "done", map[string]any{"name": p.Name, "status": conditions.Of(p, infrav1.ConditionReady).Reason, "endpoints": p.Status.Endpoints}) //nolint:errcheck // the client is gone
			flush()                                                                                                                                     //nolint:errcheck // the client is gone
			return nil
		}
		if flush() != nil {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-beat.C:
			if _, err := fmt.Fprint(w, ": waiting\n\n"); err != nil {
				return nil //nolint:nilerr // the client is gone
			}
			events = nil
			continue
		case <-again.C:
		}
		if p, events, err = feed.next(r.Context()); err != nil {
			panic(http.ErrAbortHandler) // the client must notice that it is incomplete, and asks again
		}
	}
}

// send writes a server-sent event.
func send(w http.ResponseWriter, kind string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if kind != "" {
		kind = "event: " + kind + "\n"
	}
	_, err = fmt.Fprintf(w, "%sdata: %s\n\n", kind, data)
	return err
}
