// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Attempt is a completed attempt to apply a Kustomization.
type Attempt struct {
	Name     types.NamespacedName
	Revision string
	// Failed is true if not everything was applied, or is healthy.
	Failed bool
	Began  time.Time
	Took   time.Duration
}

// tellAttempt reports an attempt, unless it waits for its turn or the server stops.
func (r *Reconciler) tellAttempt(p *pass, began time.Time, err error) {
	if r.Observe == nil || err != nil {
		return
	}
	m := r.book.read(p.owner)
	if m == nil || m.at.Before(p.now) {
		return
	}
	r.Observe(Attempt{Name: p.owner, Revision: p.artifact.revision, Failed: m.failed, Began: began, Took: time.Since(began)})
}
