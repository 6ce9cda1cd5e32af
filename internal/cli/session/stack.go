// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// StackList is a list of stacks as the API returns it.
func StackList(items ...infrav1.Terraform) *infrav1.TerraformList {
	return &infrav1.TerraformList{TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: StackKind.Kind + "List"}, Items: items}
}

// PrintStack answers programs with one stack, or with its name. People read the news.
func (s *Session) PrintStack(t *infrav1.Terraform, out *ui.Output) error {
	if !out.Machine() {
		return nil
	}
	if out.Form == "name" {
		_, err := fmt.Fprintln(s.Out, objectName(t))
		return err
	}
	return out.Print(s.Out, t)
}

// PrintStacks answers programs with a list of stacks, or with their names.
func (s *Session) PrintStacks(list *infrav1.TerraformList, out *ui.Output) error {
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(StackKind)
		if out.Form == "name" {
			fmt.Fprintln(s.Out, objectName(&list.Items[i]))
		}
	}
	if out.Form == "name" {
		return nil
	}
	return out.Print(s.Out, list)
}

// objectName is the output of -o name, as of kubectl.
func objectName(t *infrav1.Terraform) string {
	return "terraform." + infrav1.GroupVersion.Group + "/" + t.Name
}

// ConditionOf is a condition of a stack; Unknown if the stack has none.
func ConditionOf(t *infrav1.Terraform, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(t.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}

// Get reads a stack. A missing stack is an error with its own exit code.
func (s *Session) Get(ctx context.Context, key types.NamespacedName) (*infrav1.Terraform, error) {
	var t infrav1.Terraform
	err := s.Objects.Get(ctx, key, &t)
	t.SetGroupVersionKind(StackKind)
	return &t, s.StackError("get", key, err)
}

// NoStack reports whether the stack itself was not found, rather than a part of it.
func NoStack(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == Stacks.Plural
}

// StackError says what was attempted on which stack, and how to find its name; nil for nil.
func (s *Session) StackError(action string, key types.NamespacedName, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return ui.Exitf(ui.ExitNotFound, "%s %s: there is no such stack. List the stacks:\n    yuba list -n %s", action, key, key.Namespace)
	}
	return fmt.Errorf("%s %s: %w", action, key, err)
}

// Change is a merge patch of a stack.
type Change = verbs.Change

// Patch changes a stack and returns the changed one.
func (s *Session) Patch(ctx context.Context, action string, key types.NamespacedName, c Change) (*infrav1.Terraform, error) {
	var t infrav1.Terraform
	err := s.patch(ctx, key, c, &t)
	t.SetGroupVersionKind(StackKind)
	return &t, s.StackError(action, key, err)
}

func (s *Session) patch(ctx context.Context, key types.NamespacedName, c Change, into client.Object) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	into.SetNamespace(key.Namespace)
	into.SetName(key.Name)
	return s.Objects.Patch(ctx, into, client.RawPatch(types.MergePatchType, data), FieldOwner)
}

// NewRequest is a value for the annotation that requests a reconciliation.
func NewRequest() string { return verbs.NewRequest(time.Now()) }

// KeyOf is the namespace and name of a stack.
func KeyOf(t *infrav1.Terraform) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
}
