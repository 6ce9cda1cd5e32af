// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Look is a completed look at an upstream.
type Look struct {
	Kind string
	Name types.NamespacedName
	// Result is one of the constants below; Revision is the new revision.
	Result   string
	Revision string
	Began    time.Time
	Took     time.Duration
}

// The results of looks.
const (
	LookNew       = "new"
	LookUnchanged = "unchanged"
	LookFailed    = "failed"
)

func observed(k *kind, o Object, out *outcome, began time.Time) Look {
	l := Look{Kind: k.name, Name: client.ObjectKeyFromObject(o), Result: LookUnchanged, Began: began, Took: time.Since(began)}
	switch {
	case out.err != nil:
		l.Result = LookFailed
	case out.made != nil && out.found != nil:
		l.Result, l.Revision = LookNew, out.found.Revision
	}
	return l
}
