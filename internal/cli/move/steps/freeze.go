// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// freezing is the order in which kinds are suspended: first those that write others. Each group is
// suspended when the one before has ended its work. Claims follow outputs of stacks until these end.
func (m *Mover) freezing() [][]string {
	var applications []string
	for _, k := range m.From.applications {
		applications = append(applications, k.String())
	}
	return [][]string{{"Kustomization"}, {"TenantRegistry", "TenantTemplate", "Tenant", "Platform"}, applications, {"HelmRelease", "Terraform"},
		{"SubdomainClaim", "FailoverRecord"}, {"SubdomainPool"}}
}

// freeze suspends and marks the active objects at the source, and waits until none works any more.
func (m *Mover) freeze(ctx context.Context, g *gathered) error {
	if err := m.each(g, ctx, m.recordFreezing); err != nil {
		return err
	}
	for _, group := range m.freezing() {
		for _, s := range g.spaces {
			if err := m.freezeSpace(ctx, s, group); err != nil {
				return err
			}
		}
		if err := m.await(ctx, g, group); err != nil {
			return err
		}
	}
	for _, s := range g.spaces {
		if s.frozen > 0 {
			m.News("Suspended %d objects of namespace %s at %s.", s.frozen, s.name, m.From.Name)
		}
	}
	return nil
}

// recordFreezing records at the source that its objects are being suspended.
func (m *Mover) recordFreezing(ctx context.Context, _ *gathered, s *space) error {
	if s.step == decide.StepResume || s.from.Move == m.id {
		return nil
	}
	s.from = s.from.next(m.id, decide.RoleSource, m.To.Home)
	return m.From.writeRecord(ctx, s.name, s.from)
}

func (m *Mover) freezeSpace(ctx context.Context, s *space, kinds []string) error {
	if s.step == decide.StepResume {
		return nil
	}
	for _, kind := range kinds {
		for _, p := range s.copying() {
			if p.item.Kind != kind {
				continue
			}
			if err := m.freezeOne(ctx, p); err != nil {
				return err
			}
			s.frozen++
		}
	}
	return nil
}

// thawed names the objects at the source that somebody has resumed, or whose mark is gone.
func (m *Mover) thawed(ctx context.Context, g *gathered) (names []string, err error) {
	for _, s := range g.spaces {
		if s.step == decide.StepResume {
			continue
		}
		for _, p := range s.copying() {
			if !p.kind.Active {
				continue
			}
			live, err := m.From.get(ctx, p.kind, p.version, s.name, p.item.Name)
			if err != nil {
				return nil, err
			}
			if live == nil || !shape.Frozen(p.kind, live, m.id) {
				names = append(names, p.item.Kind+" "+s.name+"/"+p.item.Name)
			}
		}
	}
	return names, nil
}

// attempts limits retries of writes that conflict with a controller's.
const attempts = 10

// retried repeats a write for the current version of an object.
func (s *Side) retried(ctx context.Context, p *pair, write func(*unstructured.Unstructured) error) error {
	for attempt := 1; ; attempt++ {
		live, err := s.get(ctx, p.kind, p.version, p.item.Namespace, p.item.Name)
		if err != nil {
			return err
		}
		if live == nil {
			return fmt.Errorf("%s %s/%s disappeared at %s meanwhile. Run the same command again", p.kind, p.item.Namespace, p.item.Name, s.Name)
		}
		if err = write(live); !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
	}
}

func (m *Mover) freezeOne(ctx context.Context, p *pair) error {
	return m.From.retried(ctx, p, func(live *unstructured.Unstructured) error {
		p.source = live
		patch := shape.Freeze(p.kind, live, m.mark(m.To.Home))
		if patch == nil {
			return nil
		}
		made, err := m.From.patch(ctx, p.kind, p.version, p.item.Namespace, p.item.Name, patch)
		if err == nil {
			p.source = made
		}
		return err
	})
}

const (
	awaitPause = 250 * time.Millisecond
	// passPatience is how long a pass of another controller may take to end after a suspension.
	passPatience = time.Minute
	// runnerPatience is the same for runs of tofu-controller: it may have been stopped during one. It
	// does not hold for stacks with their own backend, whose locks we do not see.
	runnerPatience = 5 * time.Minute
	newsPause      = 10 * time.Second
)

// await returns when nothing at the source works on the objects of some kinds any more, and reads them
// again.
func (m *Mover) await(ctx context.Context, g *gathered, kinds []string) error {
	began, told := time.Now(), time.Now()
	for {
		busy, err := m.busy(ctx, g, kinds, time.Since(began))
		if err != nil || len(busy) == 0 {
			return err
		}
		if m.Quiet > 0 && time.Since(began) > m.Quiet {
			return fmt.Errorf("wait for %s: still busy after %s: %s.\nEverything there stays suspended. To go on, run the same command again. To give up and resume everything at %s, add --cancel",
				m.From.Name, m.Quiet, strings.Join(busy, "; "), m.From.Name)
		}
		if time.Since(told) > newsPause {
			told = time.Now()
			m.News("Waiting for %s: %s", m.From.Name, strings.Join(busy, "; "))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitPause):
		}
	}
}

// busy says what is still in progress.
func (m *Mover) busy(ctx context.Context, g *gathered, kinds []string, waited time.Duration) (busy []string, err error) {
	queued := map[string]string{}
	if m.From.Yuba {
		queue, err := m.From.client().Queue(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the runs of %s: %w", m.From.Name, err)
		}
		for _, e := range queue.Items {
			queued[e.Namespace+"/"+e.Name] = "run " + e.Run
		}
	}
	for _, s := range g.spaces {
		if s.step == decide.StepResume {
			continue
		}
		for _, p := range s.copying() {
			if !slices.Contains(kinds, p.item.Kind) {
				continue
			}
			live, err := m.From.get(ctx, p.kind, p.version, s.name, p.item.Name)
			if err != nil {
				return nil, err
			}
			if live == nil {
				return nil, fmt.Errorf("%s %s/%s disappeared at %s meanwhile. Run the same command again", p.kind, s.name, p.item.Name, m.From.Name)
			}
			p.source = live
			what, err := m.works(ctx, p, queued[s.name+"/"+p.item.Name], waited)
			if err != nil {
				return nil, err
			}
			if what != "" {
				busy = append(busy, s.name+"/"+p.item.Name+" ("+what+")")
			}
		}
	}
	return busy, nil
}

// works says what works on an object; empty for nothing.
func (m *Mover) works(ctx context.Context, p *pair, queued string, waited time.Duration) (string, error) {
	if p.kind.Application() {
		// The controller has seen the mark when it says so; a pass that began before has ended then.
		if waited < passPatience && ofCondition(p.source, "Ready", "reason") != moving.Reason {
			return "reconciling", nil
		}
		return "", nil
	}
	switch p.kind.GK {
	case shape.Tenants.GK, shape.TenantRegistries.GK, shape.TenantTemplates.GK:
		if waited < passPatience && !saysMoved(p) {
			return "reconciling", nil
		}
		return "", nil
	case shape.Platforms.GK, shape.Pools.GK, shape.Claims.GK, shape.FailoverRecords.GK:
		// The same, but without patience: a pass that began before the mark would make stacks that run at both homes, or
		// write records that the other home changes.
		if !saysMoved(p) {
			return "its controller has not seen the mark", nil
		}
		return "", nil
	}
	if p.kind.GK != shape.Stacks.GK {
		// A suspended object of Flux may never report the end of its last pass.
		if waited < patienceOf(p) && condition(p.source, "Reconciling") == "True" {
			return "reconciling", nil
		}
		return "", nil
	}
	t, err := stackOf(p.source)
	if err != nil {
		return "", err
	}
	switch {
	case t.Status.CurrentRun != nil:
		return "run " + t.Status.CurrentRun.ID, nil
	case queued != "":
		return queued, nil
	case !m.From.Yuba && legacyWorks(t, waited):
		return "tofu-controller works on it", nil
	case t.KeepsOwnState():
		// No Lease tells whether somebody works, so the Pods must.
		return m.runnerOf(ctx, t)
	default:
		holder, err := m.From.holder(ctx, t)
		if err != nil || holder == nil {
			return "", err
		}
		return "lock of " + holder.Who, nil
	}
}

// saysMoved reports whether the controller of an object has seen its mark. The message is that of this mark, as the reason may
// still be that of an earlier arrival.
func saysMoved(p *pair) bool {
	condition := "Ready"
	if p.kind.GK == shape.TenantTemplates.GK {
		condition = "Applied"
	}
	return ofCondition(p.source, condition, "message") == infrav1.TrimMessage(moving.Held(p.source))
}

// helmTimeout is how long an action of Helm may take by default.
const helmTimeout = 5 * time.Minute

// patienceOf is how long the last pass over an object may take to end. An upgrade that runs goes on in
// spite of a suspension.
func patienceOf(p *pair) time.Duration {
	if p.kind.GK != shape.HelmReleases.GK {
		return passPatience
	}
	text, _, _ := unstructured.NestedString(p.source.Object, "spec", "timeout") //nolint:errcheck // the default
	timeout, err := time.ParseDuration(text)
	if err != nil {
		timeout = helmTimeout
	}
	return timeout + passPatience
}

// legacyWorks reports whether tofu-controller works on a stack. Its last condition says so for ever if
// it was stopped during a run. Then the lock of the state decides; without one of ours, nobody knows.
func legacyWorks(t *infrav1.Terraform, waited time.Duration) bool {
	ready := conditions.Of(t, infrav1.ConditionReady)
	return ready.Reason == infrav1.ReasonProgressing && (t.KeepsOwnState() || waited < runnerPatience)
}

// runnerOf names the Pod of tofu-controller that runs a stack; empty without one. Pods that stay after
// a run say nothing.
func (m *Mover) runnerOf(ctx context.Context, t *infrav1.Terraform) (string, error) {
	if m.From.Yuba || t.Spec.AlwaysCleanupRunnerPod != nil && !*t.Spec.AlwaysCleanupRunnerPod {
		return "", nil
	}
	list, err := m.From.of(pods, "v1", t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: infrav1.LabelRunner + "=" + t.Name})
	if apierrors.IsNotFound(err) {
		return "", nil // an API without Pods has no runners
	}
	if err != nil {
		return "", fmt.Errorf("list the runner Pods of namespace %s at %s: %w", t.Namespace, m.From.Name, err)
	}
	for _, pod := range list.Items {
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase") //nolint:errcheck // unknown: it may run
		if phase != "Succeeded" && phase != "Failed" {
			return "Pod " + pod.GetName() + " runs it", nil
		}
	}
	return "", nil
}

var pods = shape.Kind{GK: schema.GroupKind{Kind: "Pod"}, Plural: "pods"}

func condition(o *unstructured.Unstructured, kind string) string {
	return ofCondition(o, kind, "status")
}

func ofCondition(o *unstructured.Unstructured, kind, field string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") //nolint:errcheck // none
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			text, _ := c[field].(string) //nolint:errcheck // none
			return text
		}
	}
	return ""
}
