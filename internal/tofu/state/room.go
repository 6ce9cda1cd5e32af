// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errImmutable = errors.New("it is immutable; delete it and create it again without `immutable: true`, with the same content")

// DeniedError means that the API refuses to store a state, for example because of an exhausted
// quota. Nothing was changed.
type DeniedError struct {
	Key Key
	Err error
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("store a state of %s in Secret %s/%s: %v.\n"+
		"Nothing was changed: new resources would not be in any state. Allow writing that Secret, then try again", e.Key, e.Key.Namespace, e.Key.SecretName(), e.Err)
}

func (e *DeniedError) Unwrap() error { return e.Err }

// Denied reports whether the API refuses to write an object for a reason that a quick retry does
// not fix: an exhausted quota, a policy, missing permissions, or an immutable object.
func Denied(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && !refusedByDying(err)
}

// Room checks that the API will accept the state of an apply; otherwise it returns a *DeniedError.
// now is the result of [Store.Read]. Only a first state costs a request, which is a dry run.
func (s *Store) Room(ctx context.Context, key Key, now *Snapshot, configured map[string]string) error {
	if now.Immutable {
		return &DeniedError{Key: key, Err: errImmutable}
	}
	if now.ResourceVersion != "" {
		return nil
	}
	secret := new(corev1.Secret)
	if err := encode(key, secret, []byte("{}"), Version{}, configured); err != nil {
		return err
	}
	err := s.client.Create(ctx, secret, client.DryRunAll)
	switch {
	case err == nil, refusedByDying(err), apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsBadRequest(err): // a webhook that does not support dry runs
		return nil
	case Denied(err):
		return &DeniedError{Key: key, Err: err}
	}
	return fmt.Errorf("check whether a state of %s can be stored: %w", key, err)
}
