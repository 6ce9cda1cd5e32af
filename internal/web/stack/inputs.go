// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/stack/origins"
)

// inputGroup are inputs of one kind.
type inputGroup struct {
	Name string
	Rows []inputRow
}

type inputRow struct {
	origins.Input
	// Address leads to the stack that it comes from.
	Address string
}

// inputs shows each input of a stack and where it comes from.
func (p pages) inputs(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key := client.ObjectKeyFromObject(t)
	page.Commands = []string{"yuba why " + key.String(), "yuba kubectl -n " + t.Namespace + " get terraform " + t.Name + " -o yaml"}
	facts := origins.Facts{Stack: t, ConfigMaps: map[string]*corev1.ConfigMap{}, Unread: map[string]string{}}
	for _, name := range origins.ConfigMapsOf(t) {
		var m corev1.ConfigMap
		err := r.As.Objects.Get(r.Context(), client.ObjectKey{Namespace: t.Namespace, Name: name}, &m)
		switch {
		case err == nil:
			facts.ConfigMaps[name] = &m
		case apierrors.IsNotFound(err):
			facts.ConfigMaps[name] = nil
		case apierrors.IsForbidden(err):
			facts.Unread[name] = "you may not read this ConfigMap"
		case r.Context().Err() != nil:
			return err
		default:
			facts.Unread[name] = "this ConfigMap cannot be read now"
		}
	}
	stacks, _, err := p.visible(r)
	if err != nil {
		return err
	}
	facts.Writers = writersOf(stacks, t.Namespace)
	groups := groupsOf(origins.Of(facts))
	if len(groups) == 0 {
		add(page, "stack-note", note{Says: "This stack has no inputs."})
		return nil
	}
	add(page, "stack-inputs", groups)
	return nil
}

// visible are the watched stacks that the person may list. They must not be changed. all is true if
// there are no others.
func (p pages) visible(r *site.Request) (stacks []infrav1.Terraform, all bool, err error) {
	scope, err := r.Scope(infrav1.GroupVersion.Group, "terraforms")
	if err != nil {
		return nil, false, err
	}
	var list infrav1.TerraformList
	if err := p.watched.List(r.Context(), &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, fmt.Errorf("list stacks: %w", err)
	}
	for i := range list.Items {
		if scope.Has(list.Items[i].Namespace) {
			stacks = append(stacks, list.Items[i])
		}
	}
	return stacks, scope.Everywhere(), nil
}

// writersOf are the stacks of a namespace by the Secret that they write their outputs to.
func writersOf(stacks []infrav1.Terraform, namespace string) map[string]string {
	writers := map[string]string{}
	for i := range stacks {
		t := &stacks[i]
		secret := t.Status.OutputsSecret
		if w := t.Spec.WriteOutputsToSecret; w != nil {
			secret = w.Name
		}
		if t.Namespace == namespace && secret != "" {
			writers[secret] = t.Namespace + "/" + t.Name
		}
	}
	return writers
}

func groupsOf(inputs []origins.Input) []inputGroup {
	var groups []inputGroup
	for _, in := range inputs {
		if len(groups) == 0 || groups[len(groups)-1].Name != in.Group {
			groups = append(groups, inputGroup{Name: in.Group})
		}
		row := inputRow{Input: in}
		if in.Stack != "" {
			row.Address = addressOf(in.Stack)
		}
		last := &groups[len(groups)-1]
		last.Rows = append(last.Rows, row)
	}
	return groups
}
