// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllerlog

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

var target atomic.Pointer[slog.Handler]

func init() { //nolint:gochecknoinits // it has to happen before controller-runtime's other packages log
	log.SetLogger(logr.FromSlogHandler(handler{}))
}

// To sends the log of controller-runtime to h from now on, also that of loggers which were made before.
func To(h slog.Handler) { target.Store(&h) }

// handler forwards to the target. It remembers the attributes that a logger was made with, because the target may change later.
type handler struct {
	attributes []slog.Attr
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	to := target.Load()
	return to != nil && (*to).Enabled(ctx, level)
}

// Handle implements slog.Handler. Errors come without a call of Enabled.
func (h handler) Handle(ctx context.Context, record slog.Record) error {
	to := target.Load()
	if to == nil {
		return nil
	}
	record = record.Clone()
	record.AddAttrs(h.attributes...)
	return (*to).Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return handler{attributes: append(h.attributes[:len(h.attributes):len(h.attributes)], attributes...)}
}

// WithGroup implements slog.Handler. It ignores groups.
func (h handler) WithGroup(string) slog.Handler { return h }
