// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	jwt "k8s.io/kubernetes/pkg/serviceaccount"
)

// newServiceAccount creates the default service account in every namespace.
func newServiceAccount(ctx context.Context, e *environment) (runner, error) {
	controller, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx),
		e.objects.Core().V1().ServiceAccounts(), e.objects.Core().V1().Namespaces(), e.client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { controller.Run(ctx, 1) }, nil
}

// newServiceAccountToken fills Secrets that ask for a service account's token. These tokens never
// expire; their issuer tells them from those that do.
func newServiceAccountToken(ctx context.Context, e *environment) (runner, error) {
	key, err := keyutil.PrivateKeyFromFile(e.TokenKey)
	if err != nil {
		return nil, err
	}
	tokens, err := jwt.JWTTokenGenerator(jwt.LegacyIssuer, key)
	if err != nil {
		return nil, err
	}
	controller, err := serviceaccount.NewTokensController(klog.FromContext(ctx),
		e.objects.Core().V1().ServiceAccounts(), e.tokenSecrets.Core().V1().Secrets(), e.client,
		serviceaccount.TokensControllerOptions{TokenGenerator: tokens, RootCA: e.CA})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { controller.Run(ctx, 1) }, nil
}

// newRootCertificate writes the API's certificate authority to ConfigMap kube-root-ca.crt in every
// namespace.
func newRootCertificate(_ context.Context, e *environment) (runner, error) {
	controller, err := rootcacertpublisher.NewPublisher(e.rootCAs.Core().V1().ConfigMaps(),
		e.objects.Core().V1().Namespaces(), e.client, e.CA)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { controller.Run(ctx, 1) }, nil
}

// newClusterRoleAggregation collects the rules of labelled cluster roles in view, edit and admin.
func newClusterRoleAggregation(_ context.Context, e *environment) (runner, error) {
	controller := clusterroleaggregation.NewClusterRoleAggregation(e.objects.Rbac().V1().ClusterRoles(), e.client.RbacV1())
	return func(ctx context.Context) { controller.Run(ctx, 2) }, nil
}
