// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// Pauses before an invalid template is checked again without a known change: each check sends a
// request per object.
const (
	shortestRecheck = time.Minute
	longestRecheck  = 10 * time.Minute
)

// verdict is the result of checking a template that is not valid.
type verdict struct {
	// of identifies the input of the check: another one is checked at once.
	of string
	// times counts checks with mistakes; due is the next check.
	times int
	due   time.Time
}

// verdicts are those of all templates that are not valid.
type verdicts struct {
	mu  sync.Mutex
	all map[types.NamespacedName]verdict
}

func newVerdicts() *verdicts { return &verdicts{all: map[types.NamespacedName]verdict{}} }

// due is when to check a template again; the zero time is now.
func (v *verdicts) due(name types.NamespacedName, of string) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last := v.all[name]; last.of == of {
		return last.due
	}
	return time.Time{}
}

// mistaken records mistakes, and returns the time of the next check.
func (v *verdicts) mistaken(name types.NamespacedName, of string, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := verdict{of: of}
	if before := v.all[name]; before.of == of {
		last.times = before.times
	}
	last.due = now.Add(passes.Backoff(shortestRecheck, longestRecheck, last.times))
	last.times++
	v.all[name] = last
	return last.due
}

// unanswered records that an API did not answer, and returns when to retry.
func (v *verdicts) unanswered(name types.NamespacedName, of string, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := verdict{of: of, due: now.Add(passes.RetryPause)}
	v.all[name] = last
	return last.due
}

func (v *verdicts) forget(name types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, name)
}

// reopen forgets all verdicts, and returns their templates.
func (v *verdicts) reopen() []types.NamespacedName {
	v.mu.Lock()
	defer v.mu.Unlock()
	names := slices.Collect(maps.Keys(v.all))
	clear(v.all)
	return names
}

// RecheckAll checks invalid templates again after the kinds of an API have changed.
func (r *Controller) RecheckAll() {
	for _, name := range r.verdicts.reopen() {
		r.Queue.Add(name, 0)
	}
}

// checkedOf identifies the input of a template's check, as far as it is known.
func (r *Controller) checkedOf(ctx context.Context, p *pass) string {
	h := sha256.New()
	fmt.Fprintln(h, p.obj.UID, p.obj.Generation)
	if k := p.obj.Spec.KubeConfig; k != nil && k.SecretRef != nil {
		version, err := targets.SecretVersion(ctx, r.Cached, p.obj.Namespace, k.SecretRef.Name)
		fmt.Fprintln(h, version, err)
	}
	if p.registry != nil {
		fmt.Fprintln(h, p.registry.UID, p.registry.Generation)
		for _, sample := range r.findings.Samples(client.ObjectKeyFromObject(p.registry)) {
			fmt.Fprintln(h, sample.Digest)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// known reports whether the condition describes the current template.
func known(t *tenantv1.TenantTemplate) bool {
	return conditions.Of(t, tenantv1.ConditionValid).ObservedGeneration == t.Generation
}
