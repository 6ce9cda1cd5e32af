// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// annotated is an API with one namespace.
type annotated struct {
	client.Reader
	annotations map[string]string
	err         error
	reads       int
}

func (a *annotated) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	a.reads++
	o.(*corev1.Namespace).Annotations = a.annotations
	return a.err
}

func TestNamespacesSetTools(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	api := &annotated{}
	p := newPins(api, slog.New(slog.DiscardHandler))
	p.now = func() time.Time { return now }
	if got, err := p.tool(t.Context(), "team-a"); err != nil || got != (run.Tool{}) {
		t.Errorf("without annotations: %+v", got)
	}
	api.annotations = map[string]string{infrav1.AnnotationToolVersion: "~> 1.11.0", infrav1.AnnotationToolName: "terraform"}
	if got, err := p.tool(t.Context(), "team-a"); err != nil || got != (run.Tool{}) || api.reads != 1 {
		t.Errorf("within ten seconds: %+v, %d reads", got, api.reads)
	}
	now = now.Add(pinAge)
	want := run.Tool{Name: "terraform", Version: "~> 1.11.0"}
	if got, err := p.tool(t.Context(), "team-a"); err != nil || got != want {
		t.Errorf("later: %+v", got)
	}
	// A namespace that cannot be read keeps its tool: another version could write another state.
	now, api.err = now.Add(pinAge), errors.New("the API is away")
	if got, err := p.tool(t.Context(), "team-a"); err != nil || got != want {
		t.Errorf("without the API: %+v", got)
	}
	// Nothing is known of this one: no run may start with the default tool.
	if got, err := p.tool(t.Context(), "team-b"); err == nil {
		t.Errorf("unknown without the API: %+v", got)
	}
	api.err = apierrors.NewForbidden(corev1.Resource("namespaces"), "team-b", errors.New("no right"))
	if got, err := p.tool(t.Context(), "team-b"); err == nil || !strings.Contains(err.Error(), "Let Yuba read namespaces (get)") {
		t.Errorf("without the right: %+v, %v", got, err)
	}
}
