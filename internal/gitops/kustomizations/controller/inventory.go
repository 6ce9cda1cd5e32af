// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strconv"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/fluxcd/cli-utils/pkg/object"

	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// inventoryOf reads the inventory of a status, and ignores invalid entries.
func inventoryOf(obj *kustomizev1.Kustomization) []engine.Ref {
	if obj.Status.Inventory == nil {
		return nil
	}
	refs := make([]engine.Ref, 0, len(obj.Status.Inventory.Entries))
	for _, e := range obj.Status.Inventory.Entries {
		if id, err := object.ParseObjMetadata(e.ID); err == nil {
			refs = append(refs, engine.Ref{ID: id, Version: e.Version})
		}
	}
	return refs
}

func setInventory(obj *kustomizev1.Kustomization, refs []engine.Ref) {
	inventory := &kustomizev1.ResourceInventory{Entries: make([]kustomizev1.ResourceRef, 0, len(refs))}
	for _, r := range refs {
		inventory.Entries = append(inventory.Entries, kustomizev1.ResourceRef{ID: r.ID.String(), Version: r.Version})
	}
	obj.Status.Inventory = inventory
}

// historyObjects is the key in the history of the number of objects after the last pruning. Until
// pruning, the inventory contains old and new objects.
const historyObjects = "objects"

// settledOf returns that number; negative if unknown.
func settledOf(obj *kustomizev1.Kustomization) int {
	latest := obj.Status.History.Latest()
	if latest == nil {
		return -1
	}
	n, err := strconv.Atoi(latest.Metadata[historyObjects])
	if err != nil {
		return -1
	}
	return n
}
