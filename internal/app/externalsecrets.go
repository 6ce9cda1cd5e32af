// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/secrets/external"
)

// componentLabel is on all CRDs of the External Secrets Operator.
const componentLabel = "external-secrets.io/component"

// externalDefinitions are the definitions of the kinds of External Secrets that Yuba serves.
var externalDefinitions = []string{"externalsecrets.external-secrets.io", "secretstores.external-secrets.io", "clustersecretstores.external-secrets.io"}

// addExternalSecrets adds the controllers of External Secrets' kinds, if this API serves Yuba's definitions of
// them. Others belong to the External Secrets Operator.
func (e *engine) addExternalSecrets(ctx context.Context, direct client.Client) error {
	if !e.opts.LoneServer {
		return nil // clusters have the operator, and Yuba's roles there have no rights to these kinds
	}
	for _, kind := range []string{externalv1.ExternalSecretKind, externalv1.SecretStoreKind, externalv1.ClusterSecretStoreKind} {
		served, err := serves(e.manager.GetRESTMapper(), externalv1.GroupVersion.WithKind(kind))
		if err != nil || !served {
			return err
		}
	}
	owner := &externalOwner{client: direct, now: time.Now}
	theirs, err := owner.theirs(ctx)
	if err != nil {
		return err
	}
	if theirs != "" {
		e.opts.Log.Info(theirs + ", so Yuba leaves ExternalSecrets to it. Stacks read the Secrets that it writes")
		return nil
	}
	r := &external.Reconciler{
		Client: e.manager.GetClient(), Direct: direct, Reachable: e.opts.ContractStoreEndpoints, Namespaced: len(e.opts.Namespaces) > 0, Theirs: owner.theirs,
		// The variables are those of AWS's own tools.
		Endpoints: external.Endpoints{SecretsManager: os.Getenv("AWS_ENDPOINT_URL_SECRETS_MANAGER"), ParameterStore: os.Getenv("AWS_ENDPOINT_URL_SSM")},
		Events:    e.events, Now: time.Now, Log: e.opts.Log,
	}
	return r.SetupWithManager(ctx, e.manager)
}

// externalOwner says who works on External Secrets' kinds. The operator may be installed while the server runs.
type externalOwner struct {
	client client.Client
	now    func() time.Time

	mu  sync.Mutex
	at  time.Time
	why string
}

// ownerPeriod is how long an answer is used. Until then, the operator and Yuba may both write a Secret.
const ownerPeriod = 10 * time.Second

// theirs says why this server leaves External Secrets' kinds alone; empty if it does not.
func (o *externalOwner) theirs(ctx context.Context) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if age := o.now().Sub(o.at); age >= 0 && age < ownerPeriod {
		return o.why, nil
	}
	why, err := ofExternalSecretsOperator(ctx, o.client)
	if err == nil {
		o.why, o.at = why, o.now()
	}
	return why, err
}

// ofExternalSecretsOperator says why this server leaves External Secrets' kinds alone; empty if it does not. Without
// permission to read definitions it does, as two programs would write the same Secrets.
func ofExternalSecretsOperator(ctx context.Context, c client.Client) (string, error) {
	for _, name := range externalDefinitions {
		definition := &metav1.PartialObjectMetadata{}
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		err := c.Get(ctx, client.ObjectKey{Name: name}, definition)
		switch {
		case apierrors.IsForbidden(err):
			return "this server may not read who installed the kinds of External Secrets (it lacks the right to get the customresourcedefinition " + name + ")", nil
		case apierrors.IsNotFound(err):
			return "the kinds of External Secrets are not installed any more (there is no customresourcedefinition " + name + ")", nil
		case err != nil:
			return "", fmt.Errorf("read who installed the kinds of External Secrets: %w", err)
		case definition.Labels[componentLabel] != "" || definition.Annotations["yuba.dev/installed-from"] == "":
			return "the External Secrets Operator installed the kinds of External Secrets", nil
		}
	}
	return "", nil
}
