// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// get reads a stack; one that does not exist is an error with the exit code for it.
func (s *session) get(ctx context.Context, key types.NamespacedName) (*infrav1.Terraform, error) {
	var t infrav1.Terraform
	if err := s.objects.Get(ctx, key, &t); err != nil {
		return nil, s.stackError("get", key, err)
	}
	t.SetGroupVersionKind(stackKind)
	return &t, nil
}

// once wraps an error of the server, unless it names what was looked for in vain: then it says all that there is to say.
func once(action string, key types.NamespacedName, err error) error {
	if apierrors.IsNotFound(err) {
		return exitf(exitNotFound, "%w", err)
	}
	return fmt.Errorf("%s %s: %w", action, key, err)
}

// noStack tells whether it is the stack itself that was not found, and not something of it.
func noStack(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == stacks.plural
}

// stackError says what was tried on which stack, and where its name may be found.
func (s *session) stackError(action string, key types.NamespacedName, err error) error {
	if apierrors.IsNotFound(err) {
		return exitf(exitNotFound, "%s %s: there is no such stack. See which ones there are:\n    yuba list -n %s", action, key, key.Namespace)
	}
	return fmt.Errorf("%s %s: %w", action, key, err)
}

// change is a merge patch of a stack: fields by name, nil deletes one.
type change struct {
	Metadata map[string]any `json:"metadata,omitempty"`
	Spec     map[string]any `json:"spec,omitempty"`
}

// annotate sets annotations, or deletes those whose value is nil.
func (c change) annotate(annotations map[string]any) change {
	c.Metadata = map[string]any{"annotations": annotations}
	return c
}

func (s *session) patch(ctx context.Context, action string, key types.NamespacedName, c change) (*infrav1.Terraform, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", action, key, err)
	}
	var t infrav1.Terraform
	t.Namespace, t.Name = key.Namespace, key.Name
	if err := s.objects.Patch(ctx, &t, client.RawPatch(types.MergePatchType, data), fieldOwner); err != nil {
		return nil, s.stackError(action, key, err)
	}
	t.SetGroupVersionKind(stackKind)
	return &t, nil
}

// newRequest is a value for the annotation that asks for a pass at once.
func newRequest() string { return time.Now().UTC().Format(time.RFC3339Nano) }
