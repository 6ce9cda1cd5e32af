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
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// A state that is too large for a Secret is in the blob store; these annotations of the Secret
// point to it.
const (
	AnnotationStateBlob   = "yuba.dev/state-blob"
	AnnotationStateDigest = "yuba.dev/state-digest"
)

// pointerNote replaces the state in the Secret if it is in the blob store. Plain tofu must fail on
// it: with an empty field it would start with a new state and create everything again.
const pointerNote = "This state is too large for a Secret. It is in Yuba's blob store, under the key in the annotation " +
	AnnotationStateBlob + "; read it with `yuba state pull`."

// maxPayload is the maximum data of a Secret (1 MiB) minus a margin for labels, annotations and
// managed fields, which count towards etcd's limit.
const maxPayload = corev1.MaxSecretSize - 16<<10

// getSecret returns nil if the Secret does not exist, and an *OwnedError if it belongs to another
// tenant.
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

// decode reads the state in a Secret. Data is nil without a Secret and, as in OpenTofu, without the
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
	h, err := statefile.ReadHeader(data)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Data: data, Serial: h.Serial, Lineage: h.Lineage, Encrypted: h.Encrypted, Digest: statefile.Digest(data)}, nil
}

// unpack decompresses the Secret's content, or fetches the blob that it points to. Once a real
// state has replaced the note, the annotations no longer count.
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
	if want := secret.Annotations[AnnotationStateDigest]; statefile.Digest(data) != want {
		return nil, fmt.Errorf("the blob it points to has digest %s, expected %s", statefile.Digest(data), want)
	}
	return data, nil
}

// encode writes the state into the Secret as OpenTofu's backend does: it keeps everything else in
// an existing Secret, and adds only missing labels.
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
	packed, err := compress(data, gzip.Header{})
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

// putSecret creates or updates the Secret. The resource version makes a concurrent update fail.
func (s *Store) putSecret(ctx context.Context, secret *corev1.Secret) error {
	if secret.ResourceVersion == "" {
		return s.client.Create(ctx, secret)
	}
	return s.client.Update(ctx, secret)
}

// compress keeps the header's fields but the operating system.
func compress(data []byte, header gzip.Header) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	header.OS, w.Header = w.OS, header
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
