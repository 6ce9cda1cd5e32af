// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// maxInventory limits the inventory in bytes: every write of the status carries it.
const maxInventory = 256 << 10

// ensureInventory lists the state's resources after each change, and if there is no list.
func (r *Reconciler) ensureInventory(ctx context.Context, p *acted) error {
	obj := p.obj
	if !obj.Spec.EnableInventory {
		obj.Status.Inventory = nil
		return nil
	}
	if p.ended != nil && p.ended.Result.Resources != nil {
		p.setInventory(p.ended.Result.Resources)
		return nil
	}
	moved := p.movedState()
	if obj.KeepsOwnState() || p.facts.Stack.Deleting || p.facts.StateProblem != "" || p.noState != nil || p.decision.Verb == decide.VerbAwaitRun ||
		obj.Status.LastAppliedRevision == "" || !moved && obj.Status.Inventory != nil {
		return nil
	}
	snapshot, err := r.States.Read(ctx, stateKeyOf(obj))
	if state.Lasting(err) {
		// The outputs and the next run report it; the last list stays.
		return nil
	}
	if err != nil {
		return err
	}
	if snapshot.Encrypted {
		return nil
	}
	var resources []run.Resource
	if snapshot.Data != nil {
		file, err := statefile.Parse(snapshot.Data)
		if err != nil {
			return err
		}
		resources = managed(file)
	}
	p.setInventory(resources)
	return nil
}

// movedState reports whether the run recorded in this pass may have changed the state.
func (p *collected) movedState() bool {
	return p.moved || p.ended != nil && p.ended.Result.ApplyStarted
}

// managed lists the managed resources of a state, in its order.
func managed(file *statefile.File) []run.Resource {
	var list []run.Resource
	for _, r := range file.Resources {
		if r.Mode == "managed" {
			list = append(list, run.Resource{Name: r.Name, Type: r.Type, ID: r.Identifier()})
		}
	}
	return list
}

// inventoryWarning begins the warning that the list is not whole.
const inventoryWarning = "status.inventory lists "

func (p *acted) setInventory(resources []run.Resource) {
	entries := make([]infrav1.ResourceRef, 0, len(resources))
	p.inventoryWarning = ""
	size := 0
	for _, r := range resources {
		size += len(`{"n":"","t":"","id":""},`) + len(r.Name) + len(r.Type) + len(r.ID)
		if size > maxInventory {
			p.inventoryWarning = fmt.Sprintf(inventoryWarning+"the first %d of %d resources; `yuba state list %s -n %s` lists all",
				len(entries), len(resources), p.obj.Name, p.obj.Namespace)
			break
		}
		entries = append(entries, infrav1.ResourceRef{Name: r.Name, Type: r.Type, Identifier: r.ID})
	}
	p.obj.Status.Inventory = &infrav1.ResourceInventory{Entries: entries}
	p.inventoryKnown = true
}

// inventoryWarnings is the warning about an incomplete list, of this pass or the last one.
func (p *acted) inventoryWarnings() []string {
	switch {
	case p.obj.Status.Inventory == nil:
		return nil
	case p.inventoryKnown && p.inventoryWarning == "":
		return nil
	case p.inventoryKnown:
		return []string{p.inventoryWarning}
	}
	for _, w := range p.obj.Status.Warnings {
		if strings.HasPrefix(w, inventoryWarning) {
			return []string{w}
		}
	}
	return nil
}
