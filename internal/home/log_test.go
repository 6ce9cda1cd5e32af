// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

func TestKubernetesLog(t *testing.T) {
	for sentence, test := range map[string]struct {
		calm  bool
		level slog.Level
		say   func(logr.Logger)
		want  string
	}{
		"information is for debugging": {
			true, slog.LevelInfo, func(l logr.Logger) { l.Info("starting") }, ""},
		"an error is a warning while all is calm": {
			true, slog.LevelInfo, func(l logr.Logger) { l.Error(errors.New("no route"), "list") }, "level=WARN"},
		"an error is no news while the API starts or stops": {
			false, slog.LevelInfo, func(l logr.Logger) { l.Error(errors.New("no route"), "list") }, ""},
		"whoever debugs sees it all the same": {
			false, slog.LevelDebug, func(l logr.Logger) { l.Error(errors.New("no route"), "list") }, "level=DEBUG"},
		"a stranger's bad credentials do not fill the log": {
			true, slog.LevelInfo, func(l logr.Logger) { l.Error(errors.New("invalid token"), refused) }, ""},
		"what the store refuses because it is full does not fill the log": {
			true, slog.LevelInfo, func(l logr.Logger) {
				l.Error(errors.New("etcdserver: mvcc: database space exceeded"), "Unhandled Error")
			}, ""},
		"what an error quotes of an object is left out": {
			true, slog.LevelInfo, func(l logr.Logger) {
				l.Error(errors.New(`failed to create typed patch object (team/db; /v1, Kind=Secret): .data.a: expected string, got &{hunter2}`), "Unhandled Error")
			}, `err="failed to create typed patch object (team/db; /v1, Kind=Secret): (details hidden because they quote the object)"`},
		"values stay with their logger": {
			true, slog.LevelInfo, func(l logr.Logger) { l.WithValues("a", 1).Error(nil, "m", "b", 2) }, "component=kubernetes b=2 a=1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			saved, savedCalm := kubernetesLog.Load(), kubernetesCalm.Load()
			defer func() { kubernetesLog.Store(saved); kubernetesCalm.Store(savedCalm) }()
			out := &bytes.Buffer{}
			kubernetesLog.Store(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: test.level})).With("component", "kubernetes"))
			kubernetesCalm.Store(test.calm)
			test.say(logr.FromSlogHandler(kubernetesHandler{}))
			switch got := out.String(); {
			case strings.Contains(got, "hunter2"):
				t.Errorf("it logs a value: %q", got)
			case test.want == "" && got != "":
				t.Errorf("it logs %q, want nothing", got)
			case !strings.Contains(got, test.want):
				t.Errorf("it logs %q, want something with %q", got, test.want)
			}
		})
	}
}
