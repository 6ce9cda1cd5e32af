// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What goes with its namespace cannot be told of there, and that is nobody's fault.
func TestANamespaceThatGoesIsNoError(t *testing.T) {
	dying := apierrors.NewForbidden(corev1.Resource("events"), "vpc.1", errors.New("it is being terminated"))
	dying.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for level, want := range map[slog.Level][]string{slog.LevelInfo: {"level=ERROR msg=denied"}, slog.LevelDebug: {"level=DEBUG msg=rejected", "level=DEBUG msg=failed", "level=ERROR msg=denied"}} {
		var out bytes.Buffer
		log := logr.FromSlogHandler(quieter{Handler: slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})})
		log.Error(dying, "rejected", "event", "x")
		log.Error(fmt.Errorf("write outputs: %w", dying), "failed")
		log.Error(apierrors.NewForbidden(corev1.Resource("events"), "vpc.1", errors.New("no right")), "denied")
		log.Info("progress")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != len(want) {
			t.Errorf("at %s: %s", level, out.String())
			continue
		}
		for i, line := range lines {
			if !strings.Contains(line, want[i]) {
				t.Errorf("at %s line %d is %s, want %s", level, i, line, want[i])
			}
		}
	}
}

// Ctrl-C in the first second after "Yuba is ready" finds caches that are not filled yet. That is no
// error.
func TestCachesThatAStopLeavesEmptyAreNoError(t *testing.T) {
	var out bytes.Buffer
	stopping := make(chan struct{})
	log := logr.FromSlogHandler(quieter{slog.NewTextHandler(&out, nil), stopping}).WithName("source").WithValues("kind", "Lease")
	late := apierrors.NewTimeoutError("failed waiting for *v1.Lease Informer to sync", 0)
	log.Error(late, noInformer)
	log.Error(errors.New("cache did not sync"), noSync)
	if strings.Count(out.String(), "level=ERROR") != 2 {
		t.Errorf("while it runs: %q", out.String())
	}
	close(stopping)
	out.Reset()
	log.Error(late, noInformer)
	log.Error(errors.New("cache did not sync"), noSync)
	log.Error(errors.New("failed to wait for stack caches to sync"), afterStop)
	if out.Len() > 0 {
		t.Errorf("while it stops: %s", out.String())
	}
	log.Error(late, "write the state")
	log.Error(errors.New("no such kind"), noInformer)
	if strings.Count(out.String(), "level=ERROR") != 2 {
		t.Errorf("other errors while it stops: %q", out.String())
	}
}
