// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestLog(t *testing.T) {
	for sentence, test := range map[string]struct {
		say  func(*zap.Logger)
		want string
	}{
		"information is dropped":         {func(l *zap.Logger) { l.Info("starting") }, ""},
		"a warning is for debugging":     {func(l *zap.Logger) { l.Warn("slow") }, "level=DEBUG msg=slow component=etcd"},
		"an error is a warning":          {func(l *zap.Logger) { l.Error("broken", zap.Error(errors.New("why"))) }, "level=WARN msg=broken component=etcd error=why"},
		"an error that is none is quiet": {func(l *zap.Logger) { l.Error(tooEarly) }, "level=DEBUG"},
		"fields stay with their logger":  {func(l *zap.Logger) { l.With(zap.Int("a", 1)).Error("m") }, "a=1"},
		"the end says what to do":        {func(l *zap.Logger) { l.Fatal("no space left on device") }, "free some space and start Yuba again"},
	} {
		t.Run(sentence, func(t *testing.T) {
			out := &bytes.Buffer{}
			log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
			survived := zapTo(log).WithOptions(zap.WithFatalHook(zapcore.WriteThenPanic))
			func() {
				// The test outlives what would end the process.
				defer func() { _ = recover() }()
				test.say(survived)
			}()
			switch got := out.String(); {
			case test.want == "" && got != "":
				t.Errorf("it logs %q, want nothing", got)
			case !strings.Contains(got, test.want):
				t.Errorf("it logs %q, want something with %q", got, test.want)
			}
		})
	}
}
