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

// DeniedError reports that the API does not let anybody store a state where it belongs, as with a quota that is used up.
// Nothing was changed.
type DeniedError struct {
	Key Key
	Err error
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("store a state of %s in Secret %s/%s: %v.\n"+
		"Nothing was changed: what an apply makes would be in no state. Let that Secret be written, then try again", e.Key, e.Key.Namespace, e.Key.SecretName(), e.Err)
}

func (e *DeniedError) Unwrap() error { return e.Err }

// Denied says whether the API refuses to write an object for a reason that trying again soon does not change: a quota is
// used up, a policy or the server's role does not allow it, the object is immutable.
func Denied(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && !refusedByDying(err)
}

// Room makes sure that the API will take the state that an apply makes: it is a *DeniedError when it will not. now is what
// [Store.Read] returned. Only the first state costs a request, which creates nothing.
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
	case apierrors.IsBadRequest(err): // a webhook that cannot be asked without consequences
		return nil
	case Denied(err):
		return &DeniedError{Key: key, Err: err}
	}
	return fmt.Errorf("look whether a state of %s can be stored: %w", key, err)
}
