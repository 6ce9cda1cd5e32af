// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	"github.com/fluxcd/pkg/ssa"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
	"github.com/yuba-dev/yuba/internal/kit/expression/healthcheck"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// health is the health of the applied objects.
type health struct {
	// targets are the checked objects.
	targets []engine.Ref
	looks   map[engine.ID]look
	// waiting is true if not all are healthy, since is when that began; failed is true after a
	// failed check.
	waiting, failed bool
	since, looked   time.Time
}

// look is the last check of an object.
type look struct {
	// version is the object's version; empty if it did not exist.
	version string
	status  status.Status
	message string
	// polled is true if the object is not watched.
	polled bool
}

// concerns reports whether an object is checked and has changed since its last check.
func (h *health) concerns(id engine.ID, now *metav1.PartialObjectMetadata) bool {
	l, ok := h.looks[id]
	return ok && now != nil && l.version != now.ResourceVersion && !engine.Older(now.ResourceVersion, l.version)
}

func (r *Reconciler) healthFacts(p *pass) decide.Health {
	h := &p.memory.health
	f := decide.Health{Checked: len(h.targets) > 0, Waiting: h.waiting, Since: h.since, Looked: h.looked, Failed: h.failed}
	for _, t := range h.targets {
		l := h.looks[t.ID]
		f.Polled = f.Polled || l.polled
		if now, _ := r.clusters.watch.Get(t.ID); !l.polled && h.concerns(t.ID, now) {
			f.Changed = true
		}
	}
	return f
}

// targetsOf lists the objects to check: all applied ones, or the named ones. As in Flux, a
// Kustomization waits neither for itself nor for skipped objects.
func targetsOf(obj *kustomizev1.Kustomization, outcomes []engine.Outcome) []engine.Ref {
	var targets []engine.Ref
	add := func(ref engine.Ref) {
		own := ref.GroupKind == (schema.GroupKind{Group: kustomizev1.GroupVersion.Group, Kind: kustomizev1.KustomizationKind}) &&
			ref.Namespace == obj.Namespace && ref.Name == obj.Name
		if !own {
			targets = append(targets, ref)
		}
	}
	if obj.Spec.Wait {
		for _, o := range outcomes {
			if o.Action != ssa.SkippedAction {
				add(o.Ref)
			}
		}
		return targets
	}
	for _, c := range obj.Spec.HealthChecks {
		gv, err := schema.ParseGroupVersion(c.APIVersion)
		if err != nil || c.APIVersion == "" {
			gv = schema.GroupVersion{Group: "apps", Version: "v1"} // as in Flux, for its first versions
		}
		add(engine.Ref{ID: engine.ID{GroupKind: gv.WithKind(c.Kind).GroupKind(), Namespace: c.Namespace, Name: c.Name}, Version: gv.Version})
	}
	return targets
}

// looking is the number of concurrent checks.
const looking = 4

// examine checks the targets that changed since their last check. lives has the latest objects.
func (r *Reconciler) examine(ctx context.Context, p *pass, c *engine.Cluster, h *health, lives map[engine.ID]*unstructured.Unstructured) error {
	compiled, err := healthcheck.New(p.obj.Spec.HealthCheckExprs)
	if err != nil {
		return err
	}
	looks := make([]look, len(h.targets))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(looking)
	for i, t := range h.targets {
		before, known := h.looks[t.ID]
		if known && before.version != "" && before.version == versionNow(c, t.ID, lives[t.ID]) {
			looks[i] = before
			continue
		}
		g.Go(func() error {
			var err error
			looks[i], err = lookAt(ctx, c, t, lives[t.ID], compiled)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	h.looks = make(map[engine.ID]look, len(looks))
	for i, t := range h.targets {
		h.looks[t.ID] = looks[i]
	}
	h.looked = r.Now()
	return nil
}

// versionNow returns an object's version without a request, from the watch or a newer apply.
func versionNow(c *engine.Cluster, id engine.ID, live *unstructured.Unstructured) string {
	if live != nil {
		return live.GetResourceVersion()
	}
	if c.Watch == nil {
		return ""
	}
	now, _ := c.Watch.Get(id)
	if now == nil {
		return ""
	}
	return now.ResourceVersion
}

func lookAt(ctx context.Context, c *engine.Cluster, t engine.Ref, live *unstructured.Unstructured, compiled healthcheck.Checks) (look, error) {
	if live == nil {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(t.GroupKind.WithVersion(t.Version))
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, live)
		switch {
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
			return look{status: status.NotFoundStatus, polled: true}, nil
		case err != nil:
			return look{}, fmt.Errorf("read %s: %w", engine.Name(t.ID), err)
		}
	}
	_, owned := policy.OwnerOf(live)
	l := look{version: live.GetResourceVersion(), polled: c.Watch == nil || !owned}
	l.status, l.message = statusOf(ctx, live, compiled)
	return l, nil
}

// statusOf returns an object's status by an expression for its kind, or by Kubernetes' conventions.
func statusOf(ctx context.Context, u *unstructured.Unstructured, compiled healthcheck.Checks) (status.Status, string) {
	var result *status.Result
	var err error
	switch {
	case u.GetDeletionTimestamp() != nil:
		return status.TerminatingStatus, ""
	case compiled.Has(u.GroupVersionKind().GroupKind()):
		result, err = compiled.Status(ctx, u)
	case u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "batch", Kind: "Job"}:
		job := statusreaders.ComputeJobStatus(u)
		result = &job
	default:
		result, err = status.Compute(u)
	}
	if err != nil {
		return status.InProgressStatus, err.Error()
	}
	return result.Status, result.Message
}

// unwell lists the unhealthy targets, and reports whether one of them has failed.
func (h *health) unwell() (names string, some, stalled bool) {
	var list []string
	for _, t := range h.targets {
		l := h.looks[t.ID]
		if l.status == status.CurrentStatus {
			continue
		}
		stalled = stalled || l.status == status.FailedStatus
		text := fmt.Sprintf("%s status: '%s'", engine.Name(t.ID), l.status)
		if l.message != "" {
			text += ": " + shorten.Cut(l.message, maxQuoted)
		}
		list = append(list, text)
	}
	return "[" + strings.Join(firstOf(list, ""), ", ") + "]", len(list) > 0, stalled
}

// maxQuoted limits quoted messages of objects.
const maxQuoted = 200
