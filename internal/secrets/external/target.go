// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/secrets/external/compose"
	"github.com/yuba-dev/yuba/internal/secrets/external/decide"
)

// target reads the target; nil if there is none.
func (r *Reconciler) target(ctx context.Context, es *externalv1.ExternalSecret) (*corev1.Secret, error) {
	return r.secret(ctx, types.NamespacedName{Namespace: es.Namespace, Name: targetOf(es)})
}

func (r *Reconciler) secret(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
	var s corev1.Secret
	err := r.Direct.Get(ctx, name, &s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return &s, nil
}

// controls reports whether an ExternalSecret owns a Secret.
func controls(es *externalv1.ExternalSecret, s *corev1.Secret) bool {
	return metav1.IsControlledBy(s, es)
}

// mark identifies an ExternalSecret, also after it was made again.
func mark(es *externalv1.ExternalSecret) string {
	sum := sha256.Sum256([]byte(es.Namespace + "/" + es.Name))
	return hex.EncodeToString(sum[:8])
}

// manager is the field manager of an ExternalSecret: each has its own, so that several may write to one Secret.
func manager(es *externalv1.ExternalSecret) string { return "yuba-externalsecret-" + mark(es) }

// hashKey is the annotation with the hash of what an ExternalSecret wrote. Several may merge into one Secret, so each
// has its own there.
func hashKey(es *externalv1.ExternalSecret) string {
	if es.Spec.Target.CreationPolicy == externalv1.CreateMerge {
		return "yuba.dev/externalsecret-" + mark(es)
	}
	return externalv1.AnnotationDataHash
}

// hashOf is the hash of data. The UID keeps equal values in different objects apart.
func hashOf(es *externalv1.ExternalSecret, data map[string][]byte) string {
	text, err := json.Marshal(data) // sorted
	if err != nil {                 // bytes
		panic(err)
	}
	sum := sha256.Sum256(append([]byte(es.UID), text...))
	return hex.EncodeToString(sum[:])
}

// stands reports whether a target still has what was written.
func stands(es *externalv1.ExternalSecret, s *corev1.Secret) bool {
	if es.Spec.Target.CreationPolicy == externalv1.CreateOwner && !controls(es, s) {
		return false
	}
	data := map[string][]byte{}
	for _, key := range written(es, s) {
		data[key] = s.Data[key]
	}
	return s.Annotations[hashKey(es)] == hashOf(es, data)
}

// written are the keys of a target that the ExternalSecret wrote, and nobody has changed since.
func written(es *externalv1.ExternalSecret, s *corev1.Secret) []string {
	var keys []string
	for _, entry := range s.ManagedFields {
		var fields struct {
			Data map[string]any `json:"f:data"`
		}
		if entry.Manager != manager(es) || entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for name := range fields.Data {
			if key, ok := strings.CutPrefix(name, "f:"); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// act does what was decided about the target.
func (r *Reconciler) act(ctx context.Context, es *externalv1.ExternalSecret, s *corev1.Secret, found bool, render func() (*compose.Content, error)) (decide.Act, error) {
	facts := decide.Target{Name: targetOf(es), Creation: es.Spec.Target.CreationPolicy, Deletion: es.Spec.Target.DeletionPolicy, Exists: s != nil, Found: found}
	if s != nil {
		if owner := metav1.GetControllerOf(s); owner != nil {
			facts.Owner, facts.Ours = owner.Kind+" "+owner.Name, controls(es, s)
		}
		keys := written(es, s)
		facts.OurKeys = len(keys) > 0
		for key := range s.Data {
			facts.OthersKeys = facts.OthersKeys || !slices.Contains(keys, key)
		}
	}
	act := decide.For(facts)
	var err error
	switch act.Verb {
	case decide.Delete:
		err = client.IgnoreNotFound(r.Direct.Delete(ctx, s, client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}))
	case decide.Clear:
		// The removal of keys makes no Secret of somebody else ours.
		err = r.write(ctx, es, s, &compose.Content{}, facts.Ours)
	case decide.Write:
		var content *compose.Content
		if content, err = render(); err != nil {
			return act, err
		}
		act.Same = s != nil && same(es, s, content)
		if !act.Same {
			err = r.write(ctx, es, s, content, true)
		}
	}
	if err != nil {
		return act, fmt.Errorf("%s Secret %s: %w", act.Verb, facts.Name, plain(err))
	}
	if act.Verb == decide.Fail || !moved(es, act) {
		return act, nil // the values are only in the earlier target
	}
	if err := r.leave(ctx, es); err != nil {
		act.Stays = err.Error() // the values are where the spec wants them
	}
	return act, nil
}

// same reports whether a target has the content already.
func same(es *externalv1.ExternalSecret, s *corev1.Secret, c *compose.Content) bool {
	if !stands(es, s) || s.Annotations[hashKey(es)] != hashOf(es, c.Data) || c.Type != "" && string(s.Type) != c.Type {
		return false
	}
	for key, value := range c.Data {
		if !bytes.Equal(s.Data[key], value) {
			return false
		}
	}
	has := func(there, want map[string]string) bool {
		for key, value := range want {
			if there[key] != value {
				return false
			}
		}
		return true
	}
	return len(written(es, s)) == len(c.Data) && has(s.Labels, c.Labels) && has(s.Annotations, c.Annotations) && es.Spec.Target.Immutable == (s.Immutable != nil && *s.Immutable)
}

// plain is an error of the API without the object: validation errors may quote its values.
func plain(err error) error {
	var status apierrors.APIStatus
	if apierrors.IsInvalid(err) && errors.As(err, &status) && status.Status().Details != nil {
		var fields []string
		for _, cause := range status.Status().Details.Causes {
			fields = append(fields, cause.Field)
		}
		slices.Sort(fields)
		return problem("the API refuses %s", strings.Join(slices.Compact(fields), ", "))
	}
	return err
}

// write applies the content: keys that were written before and are not in it are removed, and others stay. With own,
// the creation policy Owner makes the object the Secret's owner.
func (r *Reconciler) write(ctx context.Context, es *externalv1.ExternalSecret, s *corev1.Secret, c *compose.Content, own bool) error {
	policy := es.Spec.Target.CreationPolicy
	annotations := maps.Clone(c.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[hashKey(es)] = hashOf(es, c.Data)
	a := corev1ac.Secret(targetOf(es), es.Namespace).WithLabels(c.Labels).WithAnnotations(annotations).WithData(c.Data)
	if s != nil {
		a.WithUID(s.UID) // not another one that was made meanwhile
	}
	if policy != externalv1.CreateMerge {
		a.WithLabels(map[string]string{externalv1.LabelManaged: "true"})
		if c.Type != "" {
			a.WithType(corev1.SecretType(c.Type))
		}
	}
	if policy == externalv1.CreateOwner && own {
		a.WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(externalv1.GroupVersion.String()).WithKind(externalv1.ExternalSecretKind).
			WithName(es.Name).WithUID(es.UID).WithController(true).WithBlockOwnerDeletion(true))
	}
	if es.Spec.Target.Immutable {
		a.WithImmutable(true)
	}
	return r.Direct.Apply(ctx, a, client.FieldOwner(manager(es)), client.ForceOwnership)
}

// moved reports whether the values are in the target of this spec, if anywhere: otherwise the earlier target stays,
// which may have the only copy.
func moved(es *externalv1.ExternalSecret, act decide.Act) bool {
	return es.Spec.Target.CreationPolicy != externalv1.CreateNone && act.Reason != externalv1.ReasonSecretMissing
}

// leave deletes the target of an earlier spec, if the object owns it. Keys of others keep it: then only the object's
// own keys go.
func (r *Reconciler) leave(ctx context.Context, es *externalv1.ExternalSecret) error {
	name := es.Status.Binding.Name
	if name == "" || name == targetOf(es) {
		return nil
	}
	s, err := r.secret(ctx, types.NamespacedName{Namespace: es.Namespace, Name: name})
	if err != nil || s == nil || !controls(es, s) {
		return err
	}
	ours := written(es, s)
	for key := range s.Data {
		if !slices.Contains(ours, key) {
			return r.disown(ctx, es, s)
		}
	}
	err = r.Direct.Delete(ctx, s, client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the earlier target, Secret %s: %w", name, err)
	}
	return nil
}

// disown removes the object's keys, labels and ownership from a Secret. One that is immutable, or whose type demands the
// keys, keeps them.
func (r *Reconciler) disown(ctx context.Context, es *externalv1.ExternalSecret, s *corev1.Secret) error {
	immutable := s.Immutable != nil && *s.Immutable
	err := r.release(ctx, es, s, immutable)
	if apierrors.IsInvalid(err) && !immutable {
		err = r.release(ctx, es, s, true)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("give up the earlier target, Secret %s, which has keys of others: %w", s.Name, plain(err))
	}
	return nil
}

// release removes the object's labels and ownership from a Secret, and its keys unless they are kept.
func (r *Reconciler) release(ctx context.Context, es *externalv1.ExternalSecret, s *corev1.Secret, keep bool) error {
	a := corev1ac.Secret(s.Name, s.Namespace).WithUID(s.UID).WithType(s.Type) // a type never changes
	if s.Immutable != nil && *s.Immutable {
		a.WithImmutable(true)
	}
	if keep {
		for _, key := range written(es, s) {
			a.WithData(map[string][]byte{key: s.Data[key]})
		}
	}
	return r.Direct.Apply(ctx, a, client.FieldOwner(manager(es)), client.ForceOwnership)
}
