// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// quieter drops log records of libraries below warning: their progress does not help users.
type quieter struct {
	slog.Handler
	// stopping is closed when the server stops; may be nil.
	stopping <-chan struct{}
}

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// Handle lowers two errors. Objects, mostly events, cannot be created in a namespace that is being
// deleted. And a server that stops right after its start does not fill its caches.
func (q quieter) Handle(ctx context.Context, record slog.Record) error {
	record.Attrs(func(a slog.Attr) bool {
		err, is := a.Value.Any().(error)
		if is && (apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || q.isOfStop(record.Message, err)) {
			record.Level = slog.LevelDebug
		}
		return true
	})
	if !q.Handler.Enabled(ctx, record.Level) {
		return nil
	}
	return q.Handler.Handle(ctx, record)
}

// What controller-runtime logs for each cache that is not filled when its context ends, and for each
// controller that waited for it.
const (
	noInformer = "failed to get informer from cache"
	noSync     = "Could not wait for Cache to sync"
	afterStop  = "error received after stop sequence was engaged"
)

// isOfStop reports whether an error only says that Yuba stops.
func (q quieter) isOfStop(message string, err error) bool {
	return q.stops() && (message == noInformer && apierrors.IsTimeout(err) || message == noSync || message == afterStop)
}

func (q quieter) stops() bool {
	select {
	case <-q.stopping:
		return true
	default:
		return false
	}
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs), q.stopping}
}

func (q quieter) WithGroup(name string) slog.Handler {
	return quieter{q.Handler.WithGroup(name), q.stopping}
}
