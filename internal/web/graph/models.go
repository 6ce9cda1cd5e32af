// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"hash/maphash"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxModels limits the models that are remembered.
const maxModels = 8

// models remembers models of objects that have not changed since: of three thousand stacks, most pages
// are made of the same ones. People who see the same objects share a model.
type models struct {
	seed maphash.Seed
	mu   sync.Mutex
	made map[uint64]*Model
}

func newModels() *models { return &models{seed: maphash.MakeSeed(), made: map[uint64]*Model{}} }

// of returns the model of objects. Nobody changes it.
func (m *models) of(o Objects) *Model {
	key := m.print(o)
	m.mu.Lock()
	known := m.made[key]
	m.mu.Unlock()
	if known != nil {
		return known
	}
	model := ModelOf(o)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.made) >= maxModels {
		clear(m.made)
	}
	m.made[key] = model
	return model
}

// print identifies the versions of objects.
func (m *models) print(o Objects) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	add := func(o metav1.Object) {
		for _, text := range []string{string(o.GetUID()), o.GetResourceVersion()} {
			h.WriteString(text) //nolint:errcheck // never fails
			h.WriteByte(0)      //nolint:errcheck // never fails
		}
	}
	for _, t := range o.Stacks {
		add(t)
	}
	for _, k := range o.Kustomizations {
		add(k)
	}
	for _, s := range o.Sources {
		add(s.Object)
	}
	for _, t := range o.Tenants {
		add(t)
	}
	for _, d := range o.Definitions {
		add(d)
	}
	return h.Sum64()
}
