// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// identitySeconds is how long a token of a run lasts. Runners renew it.
const identitySeconds = 3600

// issueToken issues a token of the service account of a run for an audience. It refuses one that the
// API itself would accept: whoever may write a stack would act as the account.
func issueToken(c client.Client) func(context.Context, run.Record, string) (run.IdentityToken, error) {
	return func(ctx context.Context, rec run.Record, audience string) (run.IdentityToken, error) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: rec.Spec.Stack.Namespace, Name: rec.Spec.ServiceAccount}}
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: ptr.To[int64](identitySeconds)}}
		err := c.SubResource("token").Create(ctx, account, request)
		switch {
		case apierrors.IsNotFound(err):
			return run.IdentityToken{}, &run.RefusedError{Message: fmt.Sprintf("namespace %s has no service account %s. Create it, or set spec.serviceAccountName to one that exists",
				account.Namespace, account.Name)}
		case err != nil:
			return run.IdentityToken{}, fmt.Errorf("issue a token of service account %s/%s: %w", account.Namespace, account.Name, err)
		}
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: request.Status.Token}}
		if err := c.Create(ctx, review); err != nil {
			return run.IdentityToken{}, fmt.Errorf("check whether the API accepts tokens for the audience %s: %w", audience, err)
		}
		if review.Status.Authenticated {
			return run.IdentityToken{}, &run.RefusedError{Forbidden: true, Message: fmt.Sprintf("spec.identityTokens: the audience %s is that of the API of this Yuba. Name the audience of a cloud", audience)}
		}
		return run.IdentityToken{Token: request.Status.Token, Expires: request.Status.ExpirationTimestamp.Time}, nil
	}
}
