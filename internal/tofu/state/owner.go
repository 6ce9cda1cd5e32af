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
)

// Annotations of a state Secret that say whose resources it holds. A Secret without them was written by another program,
// or holds no resources.
const (
	// AnnotationOwners lists the stacks that wrote the state, oldest first: NAME/UID, separated by commas.
	AnnotationOwners = "yuba.dev/state-owners"
	// AnnotationDeleted is when the last of them was deleted and left the state behind.
	AnnotationDeleted = "yuba.dev/state-owner-deleted"
)

// maxOwners bounds the list. Few stacks share a state, and those that are gone matter only until another one writes it.
const maxOwners = 8

// Owner is a stack whose resources a state holds.
type Owner struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Ownership says whose resources a state holds.
type Ownership struct {
	// Owners are the stacks that wrote it, oldest first; none for a state without resources, or one of another program.
	Owners []Owner
	// Deleted is when the last of them was deleted; zero when nobody recorded that.
	Deleted time.Time
	// Scope is whose stacks they are.
	Scope scope.Scope
}

// OwnershipOf reads the metadata of a state Secret. It skips what it cannot read.
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

// Has says whether the stack with the UID is one of the owners.
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

// setOwners writes the owners into the metadata of a state Secret.
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

// ownersOf returns the owners of a state that a key's stack writes: nobody owns a state without resources.
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

// largestEmpty bounds what is parsed to find out that a state holds no resources: without any it is small.
const largestEmpty = 64 << 10

// holdsNothing says that a state manages no resource. Of an encrypted one that is not known.
func holdsNothing(data []byte) bool {
	if len(data) > largestEmpty {
		return false
	}
	file, err := Parse(data)
	return err == nil && !file.Encrypted &&
		!slices.ContainsFunc(file.Resources, func(r Resource) bool { return r.Mode == "managed" })
}

// Claim makes the key's stack an owner of the state as it is. It does nothing when there is no state, or one that holds no
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

// Leave records that the key's stack was deleted and leaves the state behind. A state of other owners stays theirs. With
// emptied, the stack destroyed everything in it, which the content of an encrypted state cannot tell.
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

// annotate changes the annotations of a state Secret that holds resources, and leaves its content alone.
func (s *Store) annotate(ctx context.Context, key Key, action string, change func(*corev1.Secret) bool) error {
	if err := key.Validate(); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := s.annotateOnce(ctx, key, change)
		if lostRace(err) && attempt < attempts {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s the state of %s: %w", action, key, err)
		}
		return nil
	}
}

func (s *Store) annotateOnce(ctx context.Context, key Key, change func(*corev1.Secret) bool) error {
	secret, err := s.getSecret(ctx, key)
	if err != nil || secret == nil {
		return err
	}
	snapshot, err := s.decode(ctx, key, secret)
	if damaged(err) {
		snapshot, err = &Snapshot{Data: secret.Data[dataKey]}, nil // whatever it is, it is somebody's
	}
	if err != nil || snapshot.Data == nil || holdsNothing(snapshot.Data) || !change(secret) {
		return err
	}
	return client.IgnoreNotFound(s.putSecret(ctx, secret))
}
