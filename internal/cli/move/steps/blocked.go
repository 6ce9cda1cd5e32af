// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

var leases = shape.Kind{GK: schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}, Plural: "leases"}

// stackOf reads a stack of either home.
func stackOf(o *unstructured.Unstructured) (*infrav1.Terraform, error) {
	var t infrav1.Terraform
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &t); err != nil {
		return nil, fmt.Errorf("read stack %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	return &t, nil
}

// gatherBlocked finds what prevents moving objects.
func (m *Mover) gatherBlocked(ctx context.Context, g *gathered) error {
	at := 0
	for _, s := range g.spaces {
		for _, p := range s.pairs {
			o := &g.facts.Objects[at]
			at++
			if o.Skip != "" || !o.Served || o.MovedTo != "" && o.MovedTo != m.To.ID {
				continue
			}
			var err error
			if o.Blocked, err = m.blockedByManager(ctx, g, p); err != nil {
				return err
			}
			if o.Blocked != "" || o.MovedTo != "" {
				continue
			}
			if o.Blocked, err = m.drops(ctx, p); err != nil {
				return err
			}
			if o.Blocked != "" {
				continue
			}
			switch p.kind.GK {
			case shape.Stacks.GK:
				o.Blocked, err = m.blockedStack(ctx, p)
			case shape.Claims.GK:
				o.Blocked, err = m.blockedClaim(ctx, p)
			case shape.Tenants.GK:
				if _, remote, _ := unstructured.NestedMap(p.source.Object, "spec", "kubeConfig"); remote { //nolint:errcheck // none
					o.Blocked = "its objects in another cluster have a label of this home, and cannot change homes"
				}
			}
			if o.Blocked == "" && err == nil {
				o.Blocked = m.unstoppable(p)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	labelKustomization          = "kustomize.toolkit.fluxcd.io/name"
	labelKustomizationNamespace = "kustomize.toolkit.fluxcd.io/namespace"
)

// blockedByManager says which Kustomization that stays would apply an object at the source again, and
// so resume it.
func (m *Mover) blockedByManager(ctx context.Context, g *gathered, p *pair) (string, error) {
	labels := p.source.GetLabels()
	ns, name := labels[labelKustomizationNamespace], labels[labelKustomization]
	versions := m.From.served[shape.Kustomizations.GK]
	if !p.kind.Active || ns == "" || slices.Contains(m.Namespaces, ns) || len(versions) == 0 || m.From.files != nil {
		return "", nil
	}
	key := ns + "/" + name
	manager, known := g.managers[key]
	if !known {
		var err error
		if manager, err = m.From.get(ctx, shape.Kustomizations, versions[0], ns, name); err != nil {
			return "", err
		}
		g.managers[key] = manager
	}
	return shape.BlockedByManager(manager, m.From.Name), nil
}

// unstoppable says which home has controllers that would go on working on a marked object: nothing but
// the mark stops those of tenants. A home without a Yuba that the caller can ask may have another one.
func (m *Mover) unstoppable(p *pair) string {
	if !p.kind.OnlyMarked() {
		return ""
	}
	for _, s := range []*Side{m.From, m.To} {
		switch {
		case s.files != nil:
		case !s.KnowsMoves:
			return s.Name + " does not announce that its server knows moves, and nothing else stops the controllers of tenants, applications, platforms and DNS names. Run a current Yuba there, with access to its server"
		case p.kind.Name() && !s.KnowsNames:
			return s.Name + " does not announce that its server knows moves of DNS names, and nothing else stops their controllers: both homes would write the records. Run a current Yuba there"
		}
	}
	return ""
}

// blockedStack says why a stack cannot move now: a holder of its lock that is not a run of its own,
// which would end by itself.
func (m *Mover) blockedStack(ctx context.Context, p *pair) (string, error) {
	t, err := stackOf(p.source)
	if err != nil {
		return "", err
	}
	if t.KeepsOwnState() {
		return "", nil
	}
	if !m.To.Yuba || !m.From.Yuba {
		secret, err := m.From.get(ctx, shape.Secrets, "v1", t.Namespace, t.StateSecretName())
		if err != nil {
			return "", err
		}
		if secret != nil && secret.GetAnnotations()[state.AnnotationStateBlob] != "" {
			return "its state is too large for a Secret. It moves only while Yuba runs at both homes", nil
		}
	}
	holder, err := m.From.holder(ctx, t)
	if err != nil || holder == nil || t.Status.CurrentRun != nil && t.Status.CurrentRun.ID == holder.ID {
		return "", err
	}
	return fmt.Sprintf("%s holds the lock of its state%s. If that is gone, release the lock at %s:\n    yuba force-unlock %s/%s --lock-id %s",
		cmp.Or(holder.Who, "somebody"), since(holder.Created), m.From.Name, t.Namespace, t.Name, holder.ID), nil
}

// blockedClaim says that the pool of a claim stays behind: without it, no home would keep the claim's records.
func (m *Mover) blockedClaim(ctx context.Context, p *pair) (string, error) {
	ns, name := shape.PoolOf(p.source)
	v := version(shape.Pools, m.From, m.To)
	if slices.Contains(m.Namespaces, ns) || v == "" {
		return "", nil
	}
	here, err := m.From.get(ctx, shape.Pools, v, ns, name)
	if err != nil || here == nil {
		return "", err
	}
	there, err := m.To.get(ctx, shape.Pools, v, ns, name)
	if err != nil || there != nil {
		return "", err
	}
	return fmt.Sprintf("%s does not have its pool %s/%s, so nobody would keep its records. Move the namespace %s, too, or before", m.To.Name, ns, name, ns), nil
}

// probe is the name of objects that are never created.
const probe = "yuba-move-probe"

// drops says which fields of a custom resource the target does not know: its kind may be another
// version's, or tofu-controller's, and its API would drop them. It lets that API create the object
// without storing it.
func (m *Mover) drops(ctx context.Context, p *pair) (string, error) {
	if !p.kind.Custom() || !slices.Contains(m.To.served[p.kind.GK], p.version) {
		return "", nil // a kind that the move brings is the same
	}
	wanted, _ := shape.Wanted(p.kind, p.source, shape.Target{APIVersion: apiVersion(p.kind, p.version), UIDs: shape.UIDs{}})
	wanted.SetNamespace(metav1.NamespaceDefault)
	wanted.SetName(probe)
	wanted.SetOwnerReferences(nil)
	made, err := m.To.of(p.kind, p.version, metav1.NamespaceDefault).Create(ctx, wanted, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return fmt.Sprintf("%s refuses it: %v", m.To.Name, err), nil
	}
	if apierrors.IsForbidden(err) {
		return "", nil // a quota or a policy of that namespace says nothing about another one
	}
	if err != nil {
		return "", fmt.Errorf("try to create %s %s/%s at %s: %w", p.kind, p.item.Namespace, p.item.Name, m.To.Name, err)
	}
	if dropped := shape.Dropped(p.kind, made, wanted); len(dropped) > 0 {
		return fmt.Sprintf("%s does not know its fields %s. Remove them, or install the newer kind there", m.To.Name, strings.Join(dropped, ", ")), nil
	}
	return "", nil
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + t.UTC().Format(time.RFC3339)
}

// holder is the holder of a stack's lock; nil if nobody has it.
func (s *Side) holder(ctx context.Context, t *infrav1.Terraform) (*state.LockInfo, error) {
	name := state.KeyOfStack(t).LeaseName()
	found, err := s.get(ctx, leases, "v1", t.Namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	var lease coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &lease); err != nil {
		return nil, fmt.Errorf("read Lease %s/%s at %s: %w", t.Namespace, name, s.Name, err)
	}
	return state.HolderOf(&lease), nil
}
