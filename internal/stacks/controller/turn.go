// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// turns reads inputs, and notes whether the values of a Secret are being rotated and other stacks run
// before this one.
type turns struct {
	inputs.Getter
	stack  string
	now    time.Time
	waiter *turnError
}

// turnError means that the stack waits for its turn in a rotation.
type turnError struct {
	secret, runs string
	until        time.Time
}

func (e *turnError) Error() string {
	return fmt.Sprintf("The values of Secret %s are being rotated, and %s runs first; waiting until %s at the latest", e.secret, e.runs, e.until.Format(time.RFC3339))
}

// longestTurn limits how long an annotation can hold stacks.
const longestTurn = time.Hour

// Secret implements [inputs.Getter].
func (t *turns) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	s, err := t.Getter.Secret(ctx, namespace, name)
	if err != nil || s == nil {
		return s, err
	}
	var turn infrav1.SecretTurn
	text := s.Annotations[infrav1.AnnotationTurn]
	if text == "" || json.Unmarshal([]byte(text), &turn) != nil {
		return s, nil // what is not a turn holds nobody
	}
	if slices.Contains(turn.Waiting, t.stack) && t.now.Before(turn.Until) && turn.Until.Before(t.now.Add(longestTurn)) {
		t.waiter = &turnError{namespace + "/" + name, turn.Runs, turn.Until}
	}
	return s, nil
}

// waits is a *turnError if the stack waits.
func (t *turns) waits() error {
	if t.waiter == nil {
		return nil
	}
	return t.waiter
}
