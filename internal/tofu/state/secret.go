// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/blob"
)

// A state too large for a Secret lies in the blob store, and these annotations of the Secret say where.
const (
	AnnotationStateBlob   = "yuba.dev/state-blob"
	AnnotationStateDigest = "yuba.dev/state-digest"
)

// pointerNote stands where the state would be when it lies in the blob store. Plain tofu must stumble over it: were
// the field empty, it would take the state for a new one and create everything again.
const pointerNote = "This state is too large for a Secret. It is in Yuba's blob store, under the key in the annotation " +
	AnnotationStateBlob + "; read it with `yuba state pull`."

// maxPayload is what a Secret may hold (1 MiB in all data) less a margin for labels, annotations and managed fields,
// which count towards etcd's limit for one object.
const maxPayload = corev1.MaxSecretSize - 16<<10

// getSecret returns nil when there is no such Secret, and an *OwnedError when it is another tenant's.
func (s *Store) getSecret(ctx context.Context, key Key) (*corev1.Secret, error) {
	secret := new(corev1.Secret)
	err := s.client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.SecretName()}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil {
		err = key.Owned(secret.Labels)
	}
	if err != nil {
		return nil, err
	}
	return secret, nil
}

// decode reads the state a Secret holds. Its Data is nil for no Secret and, as OpenTofu sees it, for one without the
// backend's data key.
func (s *Store) decode(ctx context.Context, key Key, secret *corev1.Secret) (*Snapshot, error) {
	if secret == nil {
		return &Snapshot{}, nil
	}
	packed, ok := secret.Data[dataKey]
	if !ok {
		return &Snapshot{ResourceVersion: secret.ResourceVersion}, nil
	}
	data, err := s.unpack(ctx, secret, packed)
	if err == nil {
		var snapshot *Snapshot
		if snapshot, err = newSnapshot(data); err == nil {
			snapshot.ResourceVersion, snapshot.Ownership = secret.ResourceVersion, OwnershipOf(secret)
			snapshot.Immutable = secret.Immutable != nil && *secret.Immutable
			return snapshot, nil
		}
	}
	return nil, unreadable(key, fmt.Sprintf("Secret %s/%s", secret.Namespace, secret.Name), err)
}

func newSnapshot(data []byte) (*Snapshot, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Data: data, Serial: h.serial(), Lineage: h.Lineage, Encrypted: h.encrypted(), Digest: Digest(data)}, nil
}

// unpack decompresses what the Secret holds, or fetches what it points to. A note that plain tofu, or anybody, has
// replaced by a real state points nowhere any more.
func (s *Store) unpack(ctx context.Context, secret *corev1.Secret, packed []byte) ([]byte, error) {
	if string(packed) != pointerNote {
		return decompress(bytes.NewReader(packed))
	}
	place := secret.Annotations[AnnotationStateBlob]
	if err := blob.ValidateKey(place); err != nil {
		return nil, err
	}
	stored, err := s.openBlob(ctx, place)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	data, err := decompress(stored)
	if err != nil {
		return nil, err
	}
	if want := secret.Annotations[AnnotationStateDigest]; Digest(data) != want {
		return nil, fmt.Errorf("the blob it points to has digest %s, want %s", Digest(data), want)
	}
	return data, nil
}

// encode makes the Secret hold the state, as OpenTofu's backend would: of an existing Secret everything else stays as
// it is, only labels that are missing are added.
func encode(key Key, secret *corev1.Secret, data []byte, version Version, configured map[string]string) error {
	if secret.Name == "" {
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.SecretName()}
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, annotationEncoding, "gzip")
	}
	for name, value := range key.labels(configured) {
		if _, ok := secret.Labels[name]; !ok {
			metav1.SetMetaDataLabel(&secret.ObjectMeta, name, value)
		}
	}
	setOwners(&secret.ObjectMeta, version.Owners)
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	packed, err := compress(data)
	if err != nil {
		return err
	}
	room := maxPayload
	for name, value := range secret.Data {
		if name != dataKey {
			room -= len(value)
		}
	}
	if len(packed) > room {
		secret.Data[dataKey] = []byte(pointerNote)
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, AnnotationStateBlob, key.versionsPrefix()+version.ID)
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, AnnotationStateDigest, version.Digest)
		return nil
	}
	secret.Data[dataKey] = packed
	delete(secret.Annotations, AnnotationStateBlob)
	delete(secret.Annotations, AnnotationStateDigest)
	return nil
}

// putSecret creates or updates; the resource version makes an update that crossed another one fail.
func (s *Store) putSecret(ctx context.Context, secret *corev1.Secret) error {
	if secret.ResourceVersion == "" {
		return s.client.Create(ctx, secret)
	}
	return s.client.Update(ctx, secret)
}

func compress(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func decompress(packed io.Reader) ([]byte, error) {
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("it is not compressed with gzip: %w", err)
	}
	return readLimited(r)
}

func readLimited(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("decompress it: %w", err)
	}
	if len(data) > MaxSize {
		return nil, errors.New("it is larger than 256 MiB")
	}
	return data, nil
}
