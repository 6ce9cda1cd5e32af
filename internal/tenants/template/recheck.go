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

// The pauses before a template is checked again that has mistakes, while nothing has changed that
// is known to matter: objects of a template are many, and each of them is a request.
const (
	shortestRecheck = time.Minute
	longestRecheck  = 10 * time.Minute
)

// verdict is what is remembered of a check of a template that was not found to be well.
type verdict struct {
	// of stands for what was checked: something else is checked at once.
	of string
	// times is how often that was found to have mistakes, due is when it is checked again.
	times int
	due   time.Time
}

// verdicts are about all templates that are not well.
type verdicts struct {
	mu  sync.Mutex
	all map[types.NamespacedName]verdict
}

func newVerdicts() *verdicts { return &verdicts{all: map[types.NamespacedName]verdict{}} }

// due is when a template is to be checked again; the zero time is now.
func (v *verdicts) due(name types.NamespacedName, of string) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last := v.all[name]; last.of == of {
		return last.due
	}
	return time.Time{}
}

// mistaken records mistakes, and says when to look again.
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

// unanswered takes note that somebody did not answer who has to be asked, and says when to ask
// again.
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

// reopen forgets all, and names whom that was about.
func (v *verdicts) reopen() []types.NamespacedName {
	v.mu.Lock()
	defer v.mu.Unlock()
	names := slices.Collect(maps.Keys(v.all))
	clear(v.all)
	return names
}

// RecheckAll has templates checked again that are not well: what an API serves has changed.
func (r *Controller) RecheckAll() {
	for _, name := range r.verdicts.reopen() {
		r.Queue.Add(name, 0)
	}
}

// checkedOf stands for all that a check of a template looks at, as far as it is known here.
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

// known reports whether a template's condition says how it was found as it is now.
func known(t *tenantv1.TenantTemplate) bool {
	return conditions.Of(t, tenantv1.ConditionValid).ObservedGeneration == t.Generation
}
