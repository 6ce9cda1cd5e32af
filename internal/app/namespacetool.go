// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

const (
	// pinAge is how long a namespace's tool is remembered: a thousand stacks may start runs at once.
	pinAge = 10 * time.Second
	// pinPatience limits reading a namespace.
	pinPatience = 5 * time.Second
)

// pins are the tools that namespaces set for their stacks.
type pins struct {
	reader client.Reader
	log    *slog.Logger
	now    func() time.Time

	mu sync.Mutex
	of map[string]pin
}

// pin is the tool of a namespace, and when it was read.
type pin struct {
	tool run.Tool
	at   time.Time
}

func newPins(reader client.Reader, log *slog.Logger) *pins {
	return &pins{reader: reader, log: log, now: time.Now, of: map[string]pin{}}
}

// tool returns the tool of a namespace; zero for none. While the namespace cannot be read, the last known
// one applies; without one it fails, and no run starts: another version could write another state.
func (p *pins) tool(ctx context.Context, namespace string) (run.Tool, error) {
	p.mu.Lock()
	last, known := p.of[namespace]
	p.mu.Unlock()
	if known && p.now().Sub(last.at) < pinAge {
		return last.tool, nil
	}
	ctx, cancel := context.WithTimeout(ctx, pinPatience)
	defer cancel()
	var ns corev1.Namespace
	if err := p.reader.Get(ctx, types.NamespacedName{Name: namespace}, &ns); err != nil {
		switch {
		case apierrors.IsNotFound(err):
			return run.Tool{}, nil
		case !known && apierrors.IsForbidden(err):
			return run.Tool{}, fmt.Errorf("read which tool the namespace %s sets for its stacks: %w. Let Yuba read namespaces (get), as the ClusterRole of its chart does; no run without spec.tool starts before", namespace, err)
		case !known:
			return run.Tool{}, fmt.Errorf("read which tool the namespace %s sets for its stacks: %w", namespace, err)
		}
		p.log.Warn("cannot read which tool a namespace sets for its stacks; the last known one applies", "namespace", namespace, "error", err)
		return last.tool, nil
	}
	is := pin{run.Tool{Name: ns.Annotations[infrav1.AnnotationToolName], Version: ns.Annotations[infrav1.AnnotationToolVersion]}, p.now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[namespace] = is
	return is.tool, nil
}
