// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllerlog

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A logger that was made before there is a log writes to it afterwards, and to the next one. Nobody else can set the logger: that
// of controller-runtime, after its 30 seconds, included.
func TestALoggerWritesToTheLogOfNow(t *testing.T) {
	early := log.Log.WithName("controller").WithValues("stack", "vpc")
	early.Error(errors.New("dropped"), "before there is a log")
	log.SetLogger(logr.Discard())
	for range 2 {
		var text bytes.Buffer
		To(slog.NewTextHandler(&text, nil))
		early.Error(errors.New("locked"), "reconcile")
		early.V(1).Info("a detail")
		if said := text.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "msg=reconcile") || !strings.Contains(said, "err=locked") || !strings.Contains(said, "stack=vpc") {
			t.Errorf("the log is %q", said)
		}
	}
}
