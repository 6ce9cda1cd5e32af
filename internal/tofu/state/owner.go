// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// Annotations of a state Secret that record the owners of its resources. A Secret without them was
// written by another program, or contains no resources.
const (
	// AnnotationOwners lists the stacks that wrote the state, oldest first: NAME/UID, separated by
	// commas.
	AnnotationOwners = "yuba.dev/state-owners"
	// AnnotationDeleted is when the last owner was deleted and left the state behind.
	AnnotationDeleted = "yuba.dev/state-owner-deleted"
)

// maxOwners limits the list. Few stacks share a state, and deleted ones matter only until another
// one writes it.
const maxOwners = 8

// Owner is a stack whose resources are in a state.
type Owner struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Ownership describes the owners of a state.
type Ownership struct {
	// Owners are the stacks that wrote it, oldest first; none for a state without resources, or of
	// another program.
	Owners []Owner
	// Deleted is when the last owner was deleted; zero if not recorded.
	Deleted time.Time
	// Scope is the tenant of the stacks.
	Scope scope.Scope
}

// OwnershipOf parses the metadata of a state Secret. It skips invalid parts.
func OwnershipOf(secret metav1.Object) Ownership {
	annotations := secret.GetAnnotations()
	o := Ownership{Scope: scope.Of(secret.GetLabels())}
	for _, entry := range strings.Split(annotations[AnnotationOwners], ",") {
		if name, uid, ok := strings.Cut(entry, "/"); ok && name != "" && uid != "" {
			o.Owners = append(o.Owners, Owner{Name: name, UID: uid})
		}
	}
	if at, err := time.Parse(time.RFC3339, annotations[AnnotationDeleted]); err == nil {
		o.Deleted = at
	}
	return o
}

// Has reports whether the stack with the UID is an owner.
func (o Ownership) Has(uid string) bool {
	return slices.ContainsFunc(o.Owners, func(owner Owner) bool { return owner.UID == uid })
}

// with returns the owners after a stack has written the state. A key without UID changes nothing.
func (o Ownership) with(key Key) []Owner {
	if key.UID == "" {
		return o.Owners
	}
	owners := slices.DeleteFunc(slices.Clone(o.Owners), func(owner Owner) bool { return owner.UID == key.UID })
	owners = append(owners, Owner{Name: strings.TrimPrefix(key.String(), key.Namespace+"/"), UID: key.UID})
	return owners[max(0, len(owners)-maxOwners):]
}

// setOwners writes the owners to the metadata of a state Secret.
func setOwners(meta *metav1.ObjectMeta, owners []Owner) {
	delete(meta.Annotations, AnnotationDeleted)
	if len(owners) == 0 {
		delete(meta.Annotations, AnnotationOwners)
		return
	}
	entries := make([]string, 0, len(owners))
	for _, owner := range owners {
		entries = append(entries, owner.Name+"/"+owner.UID)
	}
	metav1.SetMetaDataAnnotation(meta, AnnotationOwners, strings.Join(entries, ","))
}

// ownersOf returns the owners after a key's stack writes the state; a state without resources has
// none.
func ownersOf(key Key, secret *corev1.Secret, data []byte) []Owner {
	if holdsNothing(data) {
		return nil
	}
	var now Ownership
	if secret != nil {
		now = OwnershipOf(secret)
	}
	return now.with(key)
}

// largestEmpty limits what is parsed to find out whether a state has no resources: such a state is
// small.
const largestEmpty = 64 << 10

// holdsNothing reports whether a state manages no resources. It is false for an encrypted state.
func holdsNothing(data []byte) bool {
	if len(data) > largestEmpty {
		return false
	}
	file, err := statefile.Parse(data)
	return err == nil && !file.Encrypted &&
		!slices.ContainsFunc(file.Resources, func(r statefile.Resource) bool { return r.Mode == "managed" })
}

// Claim makes the key's stack an owner of the existing state. It does nothing without a state or
// resources.
func (s *Store) Claim(ctx context.Context, key Key) error {
	return s.annotate(ctx, key, "claim", func(secret *corev1.Secret) bool {
		now := OwnershipOf(secret)
		if now.Has(key.UID) {
			return false
		}
		setOwners(&secret.ObjectMeta, now.with(key))
		return true
	})
}

// Leave records that the key's stack was deleted and left the state behind. Other owners keep it.
// emptied reports that the stack destroyed everything, which cannot be read from an encrypted
// state.
func (s *Store) Leave(ctx context.Context, key Key, at time.Time, emptied bool) error {
	return s.annotate(ctx, key, "leave", func(secret *corev1.Secret) bool {
		now := OwnershipOf(secret)
		switch {
		case len(now.Owners) > 0 && !now.Has(key.UID):
			return false
		case emptied:
			setOwners(&secret.ObjectMeta, nil)
			return len(now.Owners) > 0
		}
		setOwners(&secret.ObjectMeta, now.with(key))
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, AnnotationDeleted, at.UTC().Format(time.RFC3339))
		return true
	})
}

// annotate changes the annotations of a state Secret with resources, not its content.
func (s *Store) annotate(ctx context.Context, key Key, action string, change func(*corev1.Secret) bool) error {
	if err := key.Validate(); err != nil {
		return err
	}
	if err := retried(func(int) error { return s.annotateOnce(ctx, key, change) }); err != nil {
		return fmt.Errorf("%s the state of %s: %w", action, key, err)
	}
	return nil
}

func (s *Store) annotateOnce(ctx context.Context, key Key, change func(*corev1.Secret) bool) error {
	secret, err := s.getSecret(ctx, key)
	if err != nil || secret == nil {
		return err
	}
	snapshot, err := s.decode(ctx, key, secret)
	if damaged(err) {
		snapshot, err = &Snapshot{Data: secret.Data[dataKey]}, nil // unreadable, so assume that somebody needs it
	}
	if err != nil || snapshot.Data == nil || holdsNothing(snapshot.Data) || !change(secret) {
		return err
	}
	return client.IgnoreNotFound(s.putSecret(ctx, secret))
}
