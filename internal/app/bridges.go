// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/bridge"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
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
	b := &bridge.Reconciler{Book: contracts.Book, Client: e.manager.GetClient(), Direct: direct, Outputs: e.outputsOf, Wake: e.wakeByName, Events: e.events, Now: time.Now, Log: e.opts.Log}
	return b.SetupWithManager(ctx, e.manager)
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
