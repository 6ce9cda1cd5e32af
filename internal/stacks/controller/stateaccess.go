// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// readsStacks returns the cache, if there is one.
func (a stateAccess) readsStacks() client.Reader {
	if a.cache == nil {
		return a.reader
	}
	return a.cache
}

// refusedState says why a stack may not use its named state. Stacks choose workspace and suffix, so
// the state may be another tenant's. A state without labels is older than tenants, and allowed.
func (a stateAccess) refusedState(ctx context.Context, obj *infrav1.Terraform) (*reads.Problem, error) {
	if obj.KeepsOwnState() {
		return nil, nil
	}
	key := stateKeyOf(obj)
	if err := key.Validate(); err != nil {
		return &reads.Problem{Reason: infrav1.ReasonInvalidName, Message: nameProblem(obj, err)}, nil
	}
	if problem := labelProblem(obj); problem != "" {
		return &reads.Problem{Reason: infrav1.ReasonInvalidName, Message: problem}, nil
	}
	if key.Scope == "" {
		return nil, nil
	}
	secret, err := stateMetadata(ctx, a.readsStacks(), obj)
	if secret == nil || err != nil {
		return nil, err
	}
	if err := key.Owned(secret.Labels); err != nil {
		return &reads.Problem{Reason: infrav1.ReasonAccessDenied, Message: err.Error(), Passing: true}, nil
	}
	return nil, nil
}

// gatherState reads the state only when a decision depends on it.
func (a stateAccess) gatherState(ctx context.Context, p *gathered) error {
	if p.facts.Pending == nil && !p.facts.Stack.Deleting {
		return nil
	}
	snapshot, err := a.states.Read(ctx, stateKeyOf(p.obj), expectState(p.obj)...)
	var corrupt *state.CorruptError
	var vanished *state.VanishedError
	var owned *state.OwnedError
	switch {
	case errors.As(err, &owned):
		p.facts.StateProblem, p.facts.StateReason = err.Error(), infrav1.ReasonAccessDenied
		return nil
	case errors.As(err, &corrupt):
		p.facts.StateProblem, p.facts.StateReason = err.Error(), infrav1.ReasonStateUnreadable
		return nil
	case errors.As(err, &vanished):
		p.facts.StateProblem, p.facts.StateReason = err.Error(), infrav1.ReasonStateMissing
		if p.facts.Stack.Deleting {
			p.facts.StateProblem = vanished.Destroying(fmt.Sprintf(
				`yuba kubectl -n %s patch tf %s --type=merge -p '{"spec":{"destroyResourcesOnDeletion":false}}'`, p.obj.Namespace, p.obj.Name))
		}
		return nil
	case err != nil:
		return err
	}
	p.facts.StateKnown = true
	p.facts.StateExists = snapshot.Data != nil
	p.facts.StateSerial = snapshot.Serial
	return nil
}

func stateKeyOf(obj *infrav1.Terraform) state.Key {
	key := state.KeyOfStack(obj)
	key.UID, key.Scope = string(obj.UID), scope.Of(obj.Labels)
	return key
}

// expectState makes a missing state of an applied stack an error: it is not a fresh start.
func expectState(obj *infrav1.Terraform) []state.ReadOption {
	if obj.Status.LastAppliedRevision == "" {
		return nil
	}
	return []state.ReadOption{state.ExpectExisting()}
}

// maxStatePart limits workspace and suffix: they are labels of the state's Secret.
const maxStatePart = validation.LabelValueMaxLength

// labelProblem says which label of the state's Secret would be invalid; empty if none. Otherwise
// the API would refuse the Secret, and the run would retry storing its state forever.
func labelProblem(obj *infrav1.Terraform) string {
	for _, name := range slices.Sorted(maps.Keys(stateLabels(obj))) {
		value := stateLabels(obj)[name]
		problems := append(validation.IsQualifiedName(name), validation.IsValidLabelValue(value)...)
		if len(problems) > 0 {
			return fmt.Sprintf("spec.backendConfig.labels: the label %q with the value %q is not valid: %s", name, value, problems[0])
		}
	}
	return ""
}

// nameProblem says why the state's Secret would have an invalid name, and which field to change.
func nameProblem(obj *infrav1.Terraform, err error) string {
	suffix := "the stack's name"
	if b := obj.Spec.BackendConfig; b != nil && b.SecretSuffix != "" {
		suffix = "spec.backendConfig.secretSuffix"
	}
	for _, part := range []struct{ field, value, change string }{
		{"spec.workspace", obj.WorkspaceName(), "spec.workspace"},
		{suffix, obj.StateSuffix(), "spec.backendConfig.secretSuffix"},
	} {
		if n := len(part.value); n > maxStatePart {
			return fmt.Sprintf("The Secret that keeps the state is labelled with %s, which has %d characters; a label has at most %d. Set %s to a shorter one",
				part.field, n, maxStatePart, part.change)
		}
		if len(validation.IsDNS1123Subdomain(part.value)) > 0 {
			return fmt.Sprintf("The Secret that keeps the state is named after %s, and %q cannot be part of such a name. "+
				"Set %s to one of lower-case letters, digits, \"-\" and \".\"", part.field, part.value, part.change)
		}
	}
	return fmt.Sprintf("%s. Choose another spec.workspace or spec.backendConfig.secretSuffix", err)
}
