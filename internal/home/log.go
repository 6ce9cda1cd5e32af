// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Kubernetes' packages log through one logger of the process. It is set once and forwards to the
// log of the current control plane.
var (
	kubernetesLog  atomic.Pointer[slog.Logger]
	kubernetesCalm atomic.Bool
	setKlog        = sync.OnceFunc(func() { klog.SetLogger(logr.FromSlogHandler(kubernetesHandler{})) })
)

// logKubernetesTo sends the log of Kubernetes' packages to log.
func logKubernetesTo(log *slog.Logger) {
	kubernetesLog.Store(log.With("component", "kubernetes"))
	setKlog()
}

// refused is logged for each request with bad credentials. Anybody could fill the log with it.
const refused = "Unable to authenticate the request"

// hungUp is logged each time a client disconnects a watch, which is how watches normally end.
const hungUp = "Failed to encode watch event"

// noSpace is part of the error for each change that a full store refuses. The store itself logs
// that once a minute.
const noSpace = "database space exceeded"

// repeats reports whether a record is one that the API server writes for every such request.
func repeats(record slog.Record) bool {
	found := record.Message == refused || record.Message == hungUp
	record.Attrs(func(a slog.Attr) bool {
		found = found || a.Key == "err" && strings.Contains(a.Value.String(), noSpace)
		return !found
	})
	return found
}

// quoting begins the error for an object that the API server cannot read. It quotes values, even of
// a Secret.
const quoting = "failed to create typed "

// discreet removes the quoted object from an error. The client that sent it got the full error.
func discreet(a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny && a.Value.Kind() != slog.KindString {
		return a
	}
	before, rest, found := strings.Cut(a.Value.String(), quoting)
	if !found {
		return a
	}
	which, _, _ := strings.Cut(rest, "): ")
	return slog.String(a.Key, before+quoting+which+"): (details hidden because they quote the object)")
}

// kubernetesHandler turns info into debug, and errors into warnings, because these packages retry.
// While the API starts or stops, its parts fail to reach each other, and errors become debug.
type kubernetesHandler struct {
	attributes []slog.Attr
}

func (h kubernetesHandler) level(level slog.Level) slog.Level {
	if level >= slog.LevelError && kubernetesCalm.Load() {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// Enabled implements slog.Handler.
func (h kubernetesHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return kubernetesLog.Load().Handler().Enabled(ctx, h.level(level))
}

// Handle implements slog.Handler. It checks the level again, because errors skip Enabled.
func (h kubernetesHandler) Handle(ctx context.Context, record slog.Record) error {
	if !h.Enabled(ctx, record.Level) {
		return nil
	}
	if repeats(record) && !kubernetesLog.Load().Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	said := slog.NewRecord(record.Time, h.level(record.Level), record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		said.AddAttrs(discreet(a))
		return true
	})
	record = said
	record.AddAttrs(h.attributes...)
	return kubernetesLog.Load().Handler().Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h kubernetesHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return kubernetesHandler{attributes: append(h.attributes[:len(h.attributes):len(h.attributes)], attributes...)}
}

// WithGroup implements slog.Handler. It ignores groups.
func (h kubernetesHandler) WithGroup(string) slog.Handler { return h }
