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

// Kubernetes' packages log through one logger of the process. It is set once and hands everything to the log of the
// control plane that runs now.
var (
	kubernetesLog  atomic.Pointer[slog.Logger]
	kubernetesCalm atomic.Bool
	setKlog        = sync.OnceFunc(func() { klog.SetLogger(logr.FromSlogHandler(kubernetesHandler{})) })
)

// logKubernetesTo makes log the place for what Kubernetes' packages say.
func logKubernetesTo(log *slog.Logger) {
	kubernetesLog.Store(log.With("component", "kubernetes"))
	setKlog()
}

// refused is what the API server says about each request with bad credentials. Whoever sends them could fill the log.
const refused = "Unable to authenticate the request"

// hungUp is what the API server says each time a client ends a watch by hanging up, which is how watches end.
const hungUp = "Failed to encode watch event"

// noSpace is in what the API server says of each change that its full store refuses. The store itself says so once a minute.
const noSpace = "database space exceeded"

// repeats tells whether a record says what is said of every request of a kind.
func repeats(record slog.Record) bool {
	found := record.Message == refused || record.Message == hungUp
	record.Attrs(func(a slog.Attr) bool {
		found = found || a.Key == "err" && strings.Contains(a.Value.String(), noSpace)
		return !found
	})
	return found
}

// quoting begins what the API server says of an object that it cannot read: values of it, be it a Secret.
const quoting = "failed to create typed "

// discreet leaves out what an error quotes of an object. Whoever sent the object was told.
func discreet(a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny && a.Value.Kind() != slog.KindString {
		return a
	}
	before, rest, found := strings.Cut(a.Value.String(), quoting)
	if !found {
		return a
	}
	which, _, _ := strings.Cut(rest, "): ")
	return slog.String(a.Key, before+quoting+which+"): (not shown, for it quotes the object)")
}

// kubernetesHandler lowers the levels: information is for debugging, and an error is a warning, since these packages try
// again until it works. While the API starts or stops its parts miss each other, which is no news at all.
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

// Handle implements slog.Handler. It asks for the level again, because errors come without being asked about.
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

// WithGroup implements slog.Handler; groups are not kept.
func (h kubernetesHandler) WithGroup(string) slog.Handler { return h }
