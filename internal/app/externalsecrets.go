// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/secrets/external"
)

// componentLabel is on all CRDs of the External Secrets Operator.
const componentLabel = "external-secrets.io/component"

// addExternalSecrets adds the controllers of External Secrets' kinds, if this API serves Yuba's definitions of
// them. Others belong to the External Secrets Operator.
func (e *engine) addExternalSecrets(ctx context.Context, direct client.Client) error {
	for _, kind := range []string{externalv1.ExternalSecretKind, externalv1.SecretStoreKind, externalv1.ClusterSecretStoreKind} {
		served, err := serves(e.manager.GetRESTMapper(), externalv1.GroupVersion.WithKind(kind))
		if err != nil || !served {
			return err
		}
	}
	theirs, err := ofExternalSecretsOperator(ctx, direct)
	if err != nil {
		return err
	}
	if theirs != "" {
		e.opts.Log.Info(theirs + ", so Yuba leaves ExternalSecrets to it. Stacks read the Secrets that it writes")
		return nil
	}
	r := &external.Reconciler{
		Client: e.manager.GetClient(), Direct: direct, Reachable: e.opts.ContractStoreEndpoints, Namespaced: len(e.opts.Namespaces) > 0,
		// The variables are those of AWS's own tools.
		Endpoints: external.Endpoints{SecretsManager: os.Getenv("AWS_ENDPOINT_URL_SECRETS_MANAGER"), ParameterStore: os.Getenv("AWS_ENDPOINT_URL_SSM")},
		Events:    e.events, Now: time.Now, Log: e.opts.Log,
	}
	return r.SetupWithManager(ctx, e.manager)
}

// ofExternalSecretsOperator says why this server leaves External Secrets' kinds alone; empty if it does not. Without
// permission to read definitions it does, as two programs would write the same Secrets.
func ofExternalSecretsOperator(ctx context.Context, c client.Client) (string, error) {
	definition, err := definitionOf(ctx, c, "externalsecrets.external-secrets.io")
	switch {
	case apierrors.IsForbidden(err):
		return "this server may not read who installed the kinds of External Secrets", nil
	case err != nil:
		return "", fmt.Errorf("read who installed the kinds of External Secrets: %w", err)
	case definition.GetLabels()[componentLabel] != "" || definition.GetAnnotations()["yuba.dev/installed-from"] == "":
		return "the External Secrets Operator installed the kinds of External Secrets", nil
	}
	return "", nil
}
