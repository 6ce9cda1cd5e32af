// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/web/access"
)

const (
	// SecretType is the type of the Secrets that are sessions.
	SecretType corev1.SecretType = "yuba.dev/web-session"
	// labelPerson has a digest of the person's name, to end all sessions of one.
	labelPerson = "web.yuba.dev/person"
	// annotationExpiry is when a session ends.
	annotationExpiry = "web.yuba.dev/expires"
	secretPrefix     = "yuba-web-session-"
	keySession       = "session"

	// believed is how long a session is used without looking at its Secret.
	believed = 10 * time.Second
	// maxBelieved bounds what is kept in memory.
	maxBelieved = 10_000
)

// store keeps sessions as Secrets. It implements scs.CtxStore; the tokens that it gets are digests
// already.
type store struct {
	objects   client.Client
	namespace string
	seal      seal
	now       func() time.Time

	mu    sync.Mutex
	known map[string]known
}

type known struct {
	data  []byte
	until time.Time
}

func nameOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return secretPrefix + hex.EncodeToString(sum[:20])
}

// FindCtx implements scs.CtxStore.
func (s *store) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	name, now := nameOf(token), s.now()
	s.mu.Lock()
	k, ok := s.known[name]
	s.mu.Unlock()
	if ok && now.Before(k.until) {
		return k.data, true, nil
	}
	var secret corev1.Secret
	err := s.objects.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		s.forget(name)
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read a session: %w", err)
	}
	expiry, err := time.Parse(time.RFC3339, secret.Annotations[annotationExpiry])
	if err != nil || secret.Type != SecretType || !now.Before(expiry) {
		s.forget(name)
		return nil, false, nil //nolint:nilerr // damaged sessions are none
	}
	data, err := s.seal.open(name, secret.Data[keySession])
	if err != nil {
		s.forget(name)
		return nil, false, nil //nolint:nilerr // what this server did not make is none
	}
	until := now.Add(believed)
	if expiry.Before(until) {
		until = expiry
	}
	s.remember(name, known{data, until})
	return data, true, nil
}

// CommitCtx implements scs.CtxStore.
func (s *store) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	if err := s.openNamespace(ctx); err != nil {
		return err
	}
	name := nameOf(token)
	secret := corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Annotations: map[string]string{annotationExpiry: expiry.UTC().Format(time.RFC3339)}},
		Type:       SecretType, Data: map[string][]byte{keySession: s.seal.close(name, data)},
	}
	if label, ok := labelOf(data); ok {
		secret.Labels = map[string]string{labelPerson: label}
	}
	err := s.objects.Create(ctx, &secret)
	if apierrors.IsAlreadyExists(err) {
		err = s.objects.Update(ctx, &secret)
	}
	if err != nil {
		return fmt.Errorf("store a session: %w", err)
	}
	s.forget(secret.Name)
	return nil
}

// openNamespace makes the namespace of sessions.
func (s *store) openNamespace(ctx context.Context) error {
	err := s.objects.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) {
		return nil // who may not make it finds out whether it is there
	}
	return fmt.Errorf("create namespace %s for sessions: %w", s.namespace, err)
}

// DeleteCtx implements scs.CtxStore.
func (s *store) DeleteCtx(ctx context.Context, token string) error {
	name := nameOf(token)
	defer s.forget(name) // a request may have read it meanwhile
	err := s.objects.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}})
	return client.IgnoreNotFound(err)
}

// deleteAll ends all sessions of a person.
func (s *store) deleteAll(ctx context.Context, person string) error {
	s.mu.Lock()
	clear(s.known)
	s.mu.Unlock()
	return s.objects.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(s.namespace), client.MatchingLabels{labelPerson: personLabel(person)})
}

// sweep deletes sessions that have expired.
func (s *store) sweep(ctx context.Context) error {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.objects.List(ctx, &list, client.InNamespace(s.namespace), client.HasLabels{labelPerson}); err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	for i := range list.Items {
		expiry, err := time.Parse(time.RFC3339, list.Items[i].Annotations[annotationExpiry])
		if err == nil && s.now().Before(expiry) {
			continue
		}
		if err := s.objects.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete an expired session: %w", err)
		}
	}
	return nil
}

func (s *store) remember(name string, k known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxBelieved {
		clear(s.known)
	}
	s.known[name] = k
}

func (s *store) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// Find implements scs.Store, whose methods without a context scs does not call.
func (s *store) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit implements scs.Store.
func (s *store) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete implements scs.Store.
func (s *store) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// labelOf is the label of the person in a session's data.
func labelOf(data []byte) (string, bool) {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return "", false
	}
	text, ok := values[keyPerson].(string)
	var p access.Person
	if !ok || json.Unmarshal([]byte(text), &p) != nil {
		return "", false
	}
	return personLabel(p.Name), true
}

// personLabel is the value of the label for a person.
func personLabel(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:20])
}
