// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// slogCore sends etcd's log to ours. etcd's messages are for administrators of clusters; most at
// info and warning mean nothing to the user of one Yuba, so it lowers the levels.
type slogCore struct {
	log *slog.Logger
}

func zapTo(log *slog.Logger) *zap.Logger {
	if log == nil {
		log = slog.Default()
	}
	return zap.New(slogCore{log: log.With("component", "etcd")})
}

// tooEarly is an error that etcd logs when it checks its storage version before its first election
// is recorded. It checks again five seconds later.
const tooEarly = "failed to update storage version"

func levelOf(level zapcore.Level) slog.Level {
	switch {
	case level >= zapcore.DPanicLevel:
		return slog.LevelError
	case level >= zapcore.ErrorLevel:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// Enabled implements zapcore.Core. It drops info unless etcd itself is being debugged.
func (c slogCore) Enabled(level zapcore.Level) bool {
	return level >= zapcore.WarnLevel && c.log.Enabled(context.Background(), levelOf(level))
}

// With implements zapcore.Core.
func (c slogCore) With(fields []zapcore.Field) zapcore.Core {
	return slogCore{log: c.log.With(arguments(fields)...)}
}

// Check implements zapcore.Core.
func (c slogCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	level := levelOf(entry.Level)
	if entry.Message == tooEarly {
		level = slog.LevelDebug
	}
	c.log.Log(context.Background(), level, entry.Message, arguments(fields)...)
	if entry.Level == zapcore.FatalLevel {
		// etcd ends the process now: continuing with a disk that it cannot write would lose
		// acknowledged changes.
		c.log.Error("the API's store cannot continue, so Yuba exits. If its disk is full, free some space and start Yuba again; runs continue meanwhile")
	}
	return nil
}

// Sync implements zapcore.Core.
func (c slogCore) Sync() error { return nil }

func arguments(fields []zapcore.Field) []any {
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range fields {
		field.AddTo(encoder)
	}
	arguments := make([]any, 0, 2*len(encoder.Fields))
	for key, value := range encoder.Fields {
		arguments = append(arguments, key, value)
	}
	return arguments
}
