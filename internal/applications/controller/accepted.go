// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
)

// tooLarge says why a definition cannot be rolled out with a limit.
func tooLarge(d *appv1.ApplicationDefinition) string {
	return fmt.Sprintf("the definition %s is too large to be rolled out with spec.rollout: it, or two versions of it, do not fit into the annotations of its kind. Move the program to a source, or remove spec.rollout", d.Name)
}

// limits reports whether a definition wants more than all instances at once.
func limits(d *appv1.ApplicationDefinition) bool { return !policyOf(d.Spec.Rollout).open() }

// enforce finds the wave of a kind in force, or makes one if its ledger has an unfinished rollout.
func (p *defining) enforce(k *kind, before kind) {
	ledger := revisions.Read(p.live.Annotations)
	k.target = ledger.Target
	var list []revisions.Revision
	at := func(number int64) *definition.Definition {
		if list == nil {
			list = ledger.Revisions(p.obj.Name)
		}
		for _, r := range list {
			if r.Number == number {
				parsed, _ := definition.Parse(r.Definition)
				return parsed
			}
		}
		return nil
	}
	if k.parsed == nil {
		k.parsed = at(ledger.Target)
	}
	if k.parsed == nil || ledger.Complete() {
		return
	}
	if w := before.wave; w != nil && before.definition == k.definition && w.Base == ledger.Base && w.Target == ledger.Target {
		k.wave = w
	} else {
		k.wave = newWave(ledger.State, map[int64]*definition.Definition{})
		for number := ledger.Base; number < ledger.Target; number++ {
			if older := at(number); older != nil {
				k.wave.older[number] = older
			}
		}
	}
	k.wave.set(policyOf(p.obj.Spec.Rollout))
}
