// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// Told is what a template reports about its tenants in its status.
type Told struct {
	// UID is the template's: a recreated template starts without findings.
	UID types.UID
	// Rollout is the progress of the last template change.
	Rollout *tenantv1.RolloutStatus
	// Unmade has the reason for each tenant that could not be created or changed.
	Unmade map[string]string
	// Unread is why the rows are unknown; empty if they are known.
	Unread string
}

// Sample is a row to check templates with; Digest identifies its values.
type Sample struct {
	Row    row.Row
	Digest string
}

// Findings are the results of passes over registries. Methods are safe for concurrent use.
type Findings struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*findings
}

// findings are about one registry.
type findings struct {
	told    map[string]Told
	held    *decide.Hold
	samples []Sample
}

// NewFindings returns no findings.
func NewFindings() *Findings { return &Findings{all: map[types.NamespacedName]*findings{}} }

// change changes the findings about a registry.
func (f *Findings) change(registry types.NamespacedName, change func(*findings)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all[registry] == nil {
		f.all[registry] = &findings{told: map[string]Told{}}
	}
	change(f.all[registry])
}

// look reads the findings about a registry, if there are any.
func (f *Findings) look(registry types.NamespacedName, look func(*findings)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found := f.all[registry]; found != nil {
		look(found)
	}
}

// Tell records what a template should report.
func (f *Findings) Tell(registry types.NamespacedName, template string, t Told) {
	f.change(registry, func(found *findings) { found.told[template] = t })
}

// Told is what a template should report; empty if no pass over the registry has decided since the
// server started.
func (f *Findings) Told(registry types.NamespacedName, template *tenantv1.TenantTemplate) (t Told) {
	f.look(registry, func(found *findings) { t = found.told[template.Name] })
	if t.UID != template.UID {
		return Told{}
	}
	return t
}

// Keep forgets templates that no longer exist.
func (f *Findings) Keep(registry types.NamespacedName, templates map[string]*tenantv1.TenantTemplate) {
	f.change(registry, func(found *findings) {
		maps.DeleteFunc(found.told, func(name string, _ Told) bool { return templates[name] == nil })
	})
}

// Hold records the deletion that waits for confirmation, and whether it differs from the last one.
func (f *Findings) Hold(registry types.NamespacedName, h *decide.Hold) (changed bool) {
	f.change(registry, func(found *findings) {
		before := found.held
		changed = (before == nil) != (h == nil) || h != nil && (before.Confirmed != h.Confirmed || before.Count != h.Count)
		found.held = h
	})
	return changed
}

// Held is the deletion of the registry's tenants that waits for confirmation.
func (f *Findings) Held(registry types.NamespacedName) (h *decide.Hold) {
	f.look(registry, func(found *findings) { h = found.held })
	return h
}

// Sample records rows to check templates with.
func (f *Findings) Sample(registry types.NamespacedName, samples []Sample) {
	f.change(registry, func(found *findings) { found.samples = samples })
}

// Samples are the rows to check templates with; none if the server has not read any yet.
func (f *Findings) Samples(registry types.NamespacedName) (samples []Sample) {
	f.look(registry, func(found *findings) { samples = found.samples })
	return samples
}

// Forget drops the findings about a registry that is gone.
func (f *Findings) Forget(registry types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, registry)
}
