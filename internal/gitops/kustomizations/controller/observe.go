// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Attempt is an attempt to apply a Kustomization that ended.
type Attempt struct {
	Name     types.NamespacedName
	Revision string
	// Failed is true when not everything was applied, or is as it should be.
	Failed bool
	Began  time.Time
	Took   time.Duration
}

// tellAttempt tells who observes. One that found another at the same objects, or that the server's end cut short, was
// none.
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
