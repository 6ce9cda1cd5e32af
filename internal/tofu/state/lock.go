// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// OperationRefactor is the operation of a lock that a refactoring holds. The id is that of the refactoring.
const OperationRefactor = "refactor"

// LockInfo describes the holder of a lock. Its JSON is OpenTofu's.
type LockInfo struct {
	ID        string    `json:"ID"`
	Operation string    `json:"Operation"`
	Info      string    `json:"Info"`
	Who       string    `json:"Who"`
	Version   string    `json:"Version"`
	Created   time.Time `json:"Created"`
	Path      string    `json:"Path"`
}

func (i LockInfo) who() string { return cmp.Or(printable(i.Who), "an unknown holder") }

// Lock acquires the state's lock, or returns a *LockedError with its holder. It succeeds if the
// same id holds the lock already.
func (s *Store) Lock(ctx context.Context, key Key, info LockInfo) error {
	_, err := s.lock(ctx, key, info, "lock")
	return err
}

// lock also reports whether it acquired the lock now, or the id held it before.
func (s *Store) lock(ctx context.Context, key Key, info LockInfo, action string) (taken bool, err error) {
	if info.ID == "" {
		return false, errors.New("lock a state without an id; this is a bug in Yuba")
	}
	if err := key.Validate(); err != nil {
		return false, err
	}
	var holder *LockInfo
	err = retried(func(attempt int) error {
		lease, err := s.knownLease(ctx, key, attempt, func(l *coordinationv1.Lease) bool { return holderOf(l) == nil })
		if err != nil {
			return err
		}
		if holder = holderOf(lease); holder != nil {
			return nil
		}
		if err = s.takeLease(ctx, key, lease, info); refusedByDying(err) {
			return nil // no other holder can acquire it, either
		}
		return err
	})
	switch {
	case err != nil:
		return false, fmt.Errorf("%s %s: %w", action, key, err)
	case holder != nil && holder.ID != info.ID:
		return false, &LockedError{Key: key, Info: *holder, Action: action}
	}
	return holder == nil, nil
}

func (s *Store) takeLease(ctx context.Context, key Key, lease *coordinationv1.Lease, info LockInfo) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	fresh := lease == nil
	if fresh {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.LeaseName(), Labels: key.labels(nil),
		}}
	}
	// Label a Lease without a tenant: plain tofu made it, or Yuba before the stack had a tenant.
	// Never change another tenant's label.
	if scope.Of(lease.Labels) == "" && key.Scope != "" {
		metav1.SetMetaDataLabel(&lease.ObjectMeta, scope.Label, string(key.Scope))
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, annotationLock, string(text))
	lease.Spec.HolderIdentity = &info.ID
	if fresh {
		err = s.client.Create(ctx, lease)
	} else {
		err = s.client.Update(ctx, lease)
	}
	if err == nil {
		s.leases.Wrote(lease)
	}
	return err
}

// Unlock releases the lock with this id, or returns a *LockedError if another id holds it. It may
// be repeated: releasing a free lock succeeds. Like OpenTofu, it keeps the Lease.
func (s *Store) Unlock(ctx context.Context, key Key, id string) error {
	if err := key.Validate(); err != nil {
		return err
	}
	var holder *LockInfo
	ours := func(holder *LockInfo) bool { return holder != nil && holder.ID == id }
	err := retried(func(attempt int) error {
		lease, err := s.knownLease(ctx, key, attempt, func(l *coordinationv1.Lease) bool { return ours(holderOf(l)) })
		if holder = holderOf(lease); err != nil || !ours(holder) {
			return err
		}
		lease.Spec.HolderIdentity = nil
		delete(lease.Annotations, annotationLock)
		if err = s.client.Update(ctx, lease); err == nil {
			s.leases.Wrote(lease)
		}
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w", key, err)
	case holder != nil && !ours(holder):
		return &LockedError{Key: key, Info: *holder, Action: fmt.Sprintf("unlock with id %q", id)}
	}
	return nil
}

// Holder returns the holder of the state's lock; nil if it is free. With a cache, it returns what
// the watch last reported.
func (s *Store) Holder(ctx context.Context, key Key) (*LockInfo, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	lease, err := s.knownLease(ctx, key, 1, func(*coordinationv1.Lease) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("check the lock of %s: %w", key, err)
	}
	return holderOf(lease), nil
}

// HolderNow is Holder without a cache.
func (s *Store) HolderNow(ctx context.Context, key Key) (*LockInfo, error) {
	return (&Store{client: s.client}).Holder(ctx, key)
}

// knownLease returns the cached Lease in a first attempt if it is good enough: a write with an old
// version fails and is retried. It returns nil if the state has never been locked.
func (s *Store) knownLease(ctx context.Context, key Key, attempt int, enough func(*coordinationv1.Lease) bool) (*coordinationv1.Lease, error) {
	if s.leases != nil && attempt == 1 {
		lease := new(coordinationv1.Lease)
		if lease, err := leaseOrNone(lease, s.leases.Get(ctx, key.lease(), lease)); err == nil && enough(lease) {
			return lease, nil
		}
	}
	return s.getLease(ctx, key)
}

// getLease reads the Lease from the API.
func (s *Store) getLease(ctx context.Context, key Key) (*coordinationv1.Lease, error) {
	lease := new(coordinationv1.Lease)
	return leaseOrNone(lease, s.client.Get(ctx, key.lease(), lease))
}

func (k Key) lease() client.ObjectKey {
	return client.ObjectKey{Namespace: k.Namespace, Name: k.LeaseName()}
}

func leaseOrNone(lease *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return lease, nil
}

// Leases selects the Leases that lock states, of any program.
func Leases() labels.Selector { return labels.SelectorFromSet(labels.Set{labelState: "true"}) }

// HolderOf returns the holder of the lock that a Lease is; nil if nobody has it.
func HolderOf(lease *coordinationv1.Lease) *LockInfo { return holderOf(lease) }

// holderOf parses a Lease. As in OpenTofu, the holder's identity counts; a damaged annotation loses
// only details.
func holderOf(lease *coordinationv1.Lease) *LockInfo {
	if lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil
	}
	var info LockInfo
	if json.Unmarshal([]byte(lease.Annotations[annotationLock]), &info) != nil {
		info = LockInfo{}
	}
	info.ID = *lease.Spec.HolderIdentity
	return &info
}
