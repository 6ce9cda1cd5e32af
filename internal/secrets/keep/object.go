// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/secrets/decide"
)

// AnnotationBook has the book of a Secret.
const AnnotationBook = "yuba.dev/secrets"

// TurnLasts is how long stacks wait for others after the last write, or the last renewal.
const TurnLasts = 30 * time.Minute

// Object is a Secret of Kubernetes.
type Object struct {
	// Client reads the API, not a cache: what is overwritten must be what was read.
	Client    client.Client
	Namespace string
	Secret    string
	// Labels are set on a Secret that is created.
	Labels map[string]string
	Now    func() time.Time
}

// Name implements [Place].
func (o *Object) Name() string { return "secret " + o.Namespace + "/" + o.Secret }

func (o *Object) get(ctx context.Context) (*corev1.Secret, error) {
	var s corev1.Secret
	err := o.Client.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Secret}, &s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.Name(), err)
	}
	return &s, nil
}

func tagOf(s *corev1.Secret) string { return string(s.UID) + "/" + s.ResourceVersion }

// Read implements [Place].
func (o *Object) Read(ctx context.Context) (decide.Document, string, error) {
	s, err := o.get(ctx)
	if err != nil || s == nil {
		return decide.Document{}.Clone(), "", err
	}
	values := map[string]string{}
	for key, value := range s.Data {
		values[key] = string(value)
	}
	d, err := parse(o.Name(), values, s.Annotations[AnnotationBook])
	return d, tagOf(s), err
}

// Write implements [Place].
func (o *Object) Write(ctx context.Context, d decide.Document, over string) error {
	s, err := o.get(ctx)
	if err != nil {
		return err
	}
	if s == nil && over != "" || s != nil && tagOf(s) != over {
		return fmt.Errorf("write %s: %w", o.Name(), ErrMoved)
	}
	if s == nil {
		s = &corev1.Secret{}
		s.Namespace, s.Name, s.Labels = o.Namespace, o.Secret, o.Labels
	}
	values, book, err := render(d)
	if err != nil {
		return err
	}
	s.Data = map[string][]byte{}
	for key, value := range values {
		s.Data[key] = []byte(value)
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[AnnotationBook] = book
	delete(s.Annotations, infrav1.AnnotationTurn)
	if turn := o.turn(d.Book.Rotation); turn != nil {
		text, err := json.Marshal(turn)
		if err != nil {
			return err
		}
		s.Annotations[infrav1.AnnotationTurn] = string(text)
	}
	if over == "" {
		err = o.Client.Create(ctx, s)
	} else {
		err = o.Client.Update(ctx, s)
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsNotFound(err) && over != "":
		err = ErrMoved
	case apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		// The API's message has names and sizes only; an immutable Secret is among its causes.
		err = fmt.Errorf("the API refuses it: %w", err)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.Name(), err)
	}
	return nil
}

// Renew keeps others waiting for the stack whose turn it is. Somebody else's write at the same moment has a new turn.
func (o *Object) Renew(ctx context.Context) error {
	s, err := o.get(ctx)
	if err != nil || s == nil || s.Annotations[infrav1.AnnotationTurn] == "" {
		return err
	}
	var turn infrav1.SecretTurn
	if err := json.Unmarshal([]byte(s.Annotations[infrav1.AnnotationTurn]), &turn); err != nil {
		return fmt.Errorf("read whose turn it is from %s: %w", o.Name(), err)
	}
	turn.Until = o.Now().UTC().Add(TurnLasts).Truncate(time.Second)
	text, err := json.Marshal(turn)
	if err != nil {
		return err
	}
	s.Annotations[infrav1.AnnotationTurn] = string(text)
	if err := o.Client.Update(ctx, s); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("keep others waiting by %s: %w", o.Name(), err)
	}
	return nil
}

// turn says who waits: all dependents behind the first one of the queue.
func (o *Object) turn(r *decide.Rotation) *infrav1.SecretTurn {
	if r == nil || len(r.Queue) < 2 {
		return nil
	}
	return &infrav1.SecretTurn{Runs: r.Queue[0], Waiting: r.Queue[1:], Until: o.Now().UTC().Add(TurnLasts).Truncate(time.Second)}
}
