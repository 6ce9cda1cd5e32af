// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/fresh"
)

// refusing is an API that answers with an error.
type refusing struct {
	client.Reader
	err error
}

func (f refusing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}

// What the API refuses because the namespace goes is no failure that anybody should hear of.
func TestPassesInANamespaceThatGoes(t *testing.T) {
	dying := apierrors.NewForbidden(corev1.Resource("secrets"), "out", errors.New("because it is being terminated"))
	dying.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for sentence, test := range map[string]struct {
		err   error
		quiet bool
	}{
		"the namespace goes":   {fmt.Errorf("write outputs: %w", dying), true},
		"something else fails": {apierrors.NewForbidden(corev1.Resource("secrets"), "out", errors.New("no right")), false},
	} {
		api := refusing{err: test.err}
		r := &Reconciler{Stacks: fresh.New(api, api), Log: slog.New(slog.DiscardHandler)}
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "vpc"}})
		if (err == nil) != test.quiet || test.quiet && result.RequeueAfter == 0 {
			t.Errorf("%s: %v, %v", sentence, result, err)
		}
	}
}
