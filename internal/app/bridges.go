// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/bridge"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// addBridges adds the bridges between contracts and stores. Call it after addContracts.
func (e *engine) addBridges(ctx context.Context, direct client.Client, r *stacks.Reconciler) error {
	contracts, ok := r.Contracts.(contractBook)
	if !ok {
		return nil // its kind is not served, as addContracts said
	}
	served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(yubav1.ContractBridgeKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind " + yubav1.ContractBridgeKind + ", so contracts have no bridges to other stores. " + installMissing)
		return nil
	}
	contracts.Elsewhere = bridge.Elsewhere(e.manager.GetCache())
	b := &bridge.Reconciler{Book: contracts.Book, Client: e.manager.GetClient(), Direct: direct, Outside: store.Client(e.opts.ContractStoreEndpoints),
		Outputs: e.outputsOf, Wake: e.wakeByName, Events: e.events, Now: time.Now, Log: e.opts.Log}
	if len(e.opts.Namespaces) == 0 { // else the revisions may belong to stacks that this server does not see
		e.collects = append(e.collects, func(ctx context.Context) error { return e.collectRevisions(ctx, contracts.Store, direct) })
	}
	return b.SetupWithManager(ctx, e.manager)
}

// collectRevisions removes the revisions of stacks and bridges that were deleted without their finalizers.
func (e *engine) collectRevisions(ctx context.Context, store *revisions.Store, direct client.Client) error {
	removed, err := store.Collect(ctx, func(ctx context.Context) (map[string]bool, error) { return producers(ctx, direct) }, time.Now().Add(-artifactGrace))
	if removed > 0 {
		e.opts.Log.Info("deleted the revisions of contracts whose producers are gone", "producers", removed)
	}
	return err
}

// producers are all stacks and bridges, by what identifies their revisions.
func producers(ctx context.Context, api client.Reader) (map[string]bool, error) {
	lives := map[string]bool{}
	var stacks infrav1.TerraformList
	if err := api.List(ctx, &stacks); err != nil {
		return nil, fmt.Errorf("list the stacks: %w", err)
	}
	for i := range stacks.Items {
		lives[string(stacks.Items[i].Salt())], lives[string(stacks.Items[i].UID)] = true, true
	}
	var bridges yubav1.ContractBridgeList
	if err := api.List(ctx, &bridges); err != nil {
		return nil, fmt.Errorf("list the bridges: %w", err)
	}
	for i := range bridges.Items {
		lives[string(bridges.Items[i].UID)] = true
	}
	return lives, nil
}

// serveContracts serves published values.
func (e *engine) serveContracts(r *stacks.Reconciler) {
	if book, ok := r.Contracts.(contractBook); ok {
		e.content.Contract = func(ctx context.Context, stack types.NamespacedName, contract, version, path string) (*content.ContractValue, error) {
			return contractValue(ctx, book.Book, stack, contract, version, path)
		}
	}
}

// contractValue reads a value of a contract, or a part of it. The API has checked that the user may read
// the contracts of the stack.
func contractValue(ctx context.Context, book *contracts.Book, stack types.NamespacedName, contract, version, path string) (*content.ContractValue, error) {
	text, reading, err := book.Text(ctx, contracts.Want{Namespace: stack.Namespace, Producer: stack, Contract: contract, Version: version}, path)
	var missing *contracts.MissingError
	var wrong *contracts.WrongError
	switch {
	case errors.As(err, &missing):
		return nil, content.NotFound(missing)
	case errors.As(err, &wrong):
		return nil, content.Invalid(wrong)
	case err != nil:
		return nil, err
	}
	return &content.ContractValue{Value: text, Version: reading.Version, Revision: reading.Number, Digest: reading.Digest}, nil
}

// outputsOf reads the outputs of a stack for bridges.
func (e *engine) outputsOf(ctx context.Context, t *infrav1.Terraform) (map[string]json.RawMessage, error) {
	return e.content.OutputsOf(ctx, t)
}
