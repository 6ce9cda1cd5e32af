// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package callhome

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TokenKey is the key of the token in the Secret that the stack of the machines reads.
const TokenKey = "call_home_token"

// Pair is a ticket and the Secret with its token, which the stack of the machines reads.
type Pair struct {
	Ticket, Tokens types.NamespacedName
	// Labels are those of Secrets that are made.
	Labels map[string]string
	// Lifetime is how long a token is valid.
	Lifetime time.Duration
}

// Keep makes the ticket and the token of a pair unless they exist, renews them when the token has expired, and deletes the
// token once the kubeconfig has arrived: from then on nobody has it. It can be called again after any failure: a token that is
// not that of the ticket is replaced. It returns the state of the ticket.
func Keep(ctx context.Context, c client.Client, p Pair, now time.Time) (State, error) {
	ticket, tokens := &corev1.Secret{}, &corev1.Secret{}
	if err := getOrNew(ctx, c, p, p.Ticket, ticket); err != nil {
		return "", err
	}
	if err := getOrNew(ctx, c, p, p.Tokens, tokens); err != nil {
		return "", err
	}
	state := StateOf(ticket, now)
	token := string(tokens.Data[TokenKey])
	switch {
	case state == Arrived:
		if token == "" {
			return state, nil
		}
		delete(tokens.Data, TokenKey)
		return state, write(ctx, c, tokens)
	case state == Waiting && token != "":
		if g, err := grantOf(ticket); err == nil && g.accepts(token) {
			return state, nil
		}
	}
	token, grant, err := New(now, p.Lifetime)
	if err != nil {
		return "", err
	}
	Renew(ticket, grant)
	if tokens.Data == nil {
		tokens.Data = map[string][]byte{}
	}
	tokens.Data[TokenKey] = []byte(token)
	// The token first: a stack that reads it early finds a node refused, which is mended by the next pass.
	if err := write(ctx, c, tokens); err != nil {
		return "", err
	}
	return Waiting, write(ctx, c, ticket)
}

func getOrNew(ctx context.Context, c client.Client, p Pair, key types.NamespacedName, s *corev1.Secret) error {
	err := c.Get(ctx, key, s)
	if apierrors.IsNotFound(err) {
		s.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{}}
	} else if err != nil {
		return fmt.Errorf("read the Secret %s: %w", key, err)
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	for k, v := range p.Labels {
		s.Labels[k] = v
	}
	if key == p.Ticket {
		s.Labels[Label] = "true"
	}
	return nil
}

func write(ctx context.Context, c client.Client, s *corev1.Secret) error {
	var err error
	if s.ResourceVersion == "" {
		err = c.Create(ctx, s)
	} else {
		err = c.Update(ctx, s) // a conflict is an error: the next pass reads again
	}
	if err != nil {
		return fmt.Errorf("write the Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}
