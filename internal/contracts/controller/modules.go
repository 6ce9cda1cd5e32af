// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/contracts/publishmodule"
)

// Grants reports whether stacks of a namespace may consume a contract. They may not consume one that does
// not exist.
func (b *Book) Grants(ctx context.Context, contract types.NamespacedName, namespace string) (bool, error) {
	k, err := b.contract(ctx, contract)
	if k == nil || err != nil {
		return false, err
	}
	return b.grants(ctx, k.object, namespace)
}

// Editions are the admitted versions of a contract, the highest first, as modules need them; none if it
// does not exist.
func (b *Book) Editions(ctx context.Context, contract types.NamespacedName) ([]publishmodule.Edition, error) {
	k, err := b.contract(ctx, contract)
	if k == nil || err != nil {
		return nil, err
	}
	var all []publishmodule.Edition
	for i, v := range k.object.Status.Versions { // of which the editions were made, in this order
		one := publishmodule.Edition{Namespace: contract.Namespace, Contract: contract.Name, Version: v.Version, Type: k.editions[i].Type,
			Private: v.Private, Validations: k.editions[i].validations}
		for _, d := range v.Deprecated {
			one.Deprecated = append(one.Deprecated, publishmodule.Note{Path: d.Path, Message: d.Message})
		}
		all = append(all, one)
	}
	slices.Reverse(all) // they are sorted, the lowest first
	return all, nil
}
