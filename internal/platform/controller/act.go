// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/objects/approval"
	"github.com/yuba-dev/yuba/internal/platform/decide"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// fieldOwner owns what we write.
const fieldOwner = client.FieldOwner("yuba-platform")

// print is a stack as we left it: a stack with the same print needs no write.
type print struct {
	uid        types.UID
	generation int64
	digest     [sha256.Size]byte
}

// act writes and removes stacks, if the platform is still this home's.
func (r *Reconciler) act(ctx context.Context, p *yubav1.Platform, d decide.Decision, steps []plan.Step, stacks []infrav1.Terraform, here func() error) error {
	live := map[string]*infrav1.Terraform{}
	for i := range stacks {
		live[stacks[i].Name] = &stacks[i]
	}
	wanted := map[string]plan.Step{}
	for _, s := range steps {
		wanted[s.Stack] = s
	}
	prepared := map[string]bool{}
	for _, name := range d.Write {
		step := wanted[name]
		if !prepared[step.Region] {
			if err := r.prepare(ctx, p, step.Region, here); err != nil {
				return err
			}
			prepared[step.Region] = true
		}
		if err := r.write(ctx, p, step, live[name], here); err != nil {
			return err
		}
	}
	for _, name := range d.Remove {
		if err := here(); err != nil {
			return err
		}
		if err := r.remove(ctx, p, live[name]); err != nil {
			return err
		}
	}
	return nil
}

// here is an error if another home has the platform meanwhile, although the cache does not know it yet: what would be made or
// removed is that home's.
func (r *Reconciler) here(ctx context.Context, p *yubav1.Platform) error {
	var live yubav1.Platform
	if err := r.Direct.Get(ctx, client.ObjectKeyFromObject(p), &live); err != nil {
		return fmt.Errorf("read the platform %s before its stacks are changed: %w", p.Name, err)
	}
	if held := moving.Held(&live); held != "" || live.UID != p.UID {
		return apierrors.NewConflict(yubav1.GroupVersion.WithResource("platforms").GroupResource(), p.Name, errors.New("it has changed: "+held))
	}
	return nil
}

// write applies the manifest of a step, unless its stack is as we left it.
func (r *Reconciler) write(ctx context.Context, p *yubav1.Platform, step plan.Step, live *infrav1.Terraform, here func() error) error {
	manifest, err := manifestOf(p, step)
	if err != nil {
		return err
	}
	text, err := json.Marshal(manifest.Object)
	if err != nil {
		return fmt.Errorf("write the stack %s: %w", step.Stack, err)
	}
	key, digest := p.Namespace+"/"+step.Stack, sha256.Sum256(text)
	if left, ok := r.written.Load(key); ok && live != nil && left == (print{live.UID, live.Generation, digest}) {
		return nil
	}
	if approval.Concerns(manifest) && live != nil {
		current, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
		if err != nil {
			return fmt.Errorf("read the stack %s: %w", step.Stack, err)
		}
		manifest = approval.Omit(manifest, &unstructured.Unstructured{Object: current})
	}
	if err := here(); err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, manifest, yamltext.Apply, fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("write the stack %s of the platform %s: %w", step.Stack, p.Name, err)
	}
	r.written.Store(key, print{manifest.GetUID(), manifest.GetGeneration(), digest})
	return nil
}

// manifestOf is the manifest of a step's stack. approvePlan is always in it.
func manifestOf(p *yubav1.Platform, step plan.Step) (*unstructured.Unstructured, error) {
	labels := map[string]string{yubav1.LabelPlatform: p.Name, yubav1.LabelPlatformRegion: step.Region, yubav1.LabelPlatformPhase: string(step.Phase)}
	if step.Component != "" {
		labels[yubav1.LabelPlatformComponent] = step.Component
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&infrav1.Terraform{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: infrav1.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: step.Stack, Labels: labels}, Spec: step.Spec})
	if err != nil {
		return nil, fmt.Errorf("write the stack %s: %w", step.Stack, err)
	}
	u := &unstructured.Unstructured{Object: object}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if err := unstructured.SetNestedField(u.Object, step.Spec.ApprovePlan, "spec", "approvePlan"); err != nil {
		return nil, fmt.Errorf("write the stack %s: %w", step.Stack, err)
	}
	return u, nil
}

// remove deletes a stack. First it says what happens to the resources: the deletion follows the object.
func (r *Reconciler) remove(ctx context.Context, p *yubav1.Platform, t *infrav1.Terraform) error {
	destroy := p.Spec.Decommission || p.Spec.Removal != yubav1.RemovalKeep
	if t.Spec.DestroyResourcesOnDeletion != destroy {
		before := t.DeepCopy()
		t.Spec.DestroyResourcesOnDeletion = destroy
		if err := r.Client.Patch(ctx, t, client.MergeFrom(before), fieldOwner); err != nil {
			return fmt.Errorf("prepare the removal of the stack %s: %w", t.Name, err)
		}
	}
	if err := r.Client.Delete(ctx, t, client.Preconditions{UID: &t.UID}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the stack %s of the platform %s: %w", t.Name, p.Name, err)
	}
	r.written.Delete(p.Namespace + "/" + t.Name)
	return nil
}
