// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// NotFoundError means that there is no such provider, version, platform, file or key.
type NotFoundError struct {
	What string
	// Known are the ones that there are, if that helps.
	Known []string
}

// Is makes the error one of [offer.ErrNone].
func (e *NotFoundError) Is(target error) bool { return target == offer.ErrNone }

func (e *NotFoundError) Error() string {
	text := e.What + " does not exist"
	if len(e.Known) > 0 {
		known, more := e.Known, ""
		if len(known) > 12 {
			known, more = known[:12], fmt.Sprintf(" and %d more", len(e.Known)-12)
		}
		text += "; there are " + strings.Join(known, ", ") + more
	}
	return text
}

// InvalidError means that an upload or a key is not valid. Nothing was stored.
type InvalidError struct {
	// What was attempted, Reason why it is refused.
	What, Reason string
	// Next is what to do, if that is not obvious.
	Next string
}

func (e *InvalidError) Error() string {
	text := e.What + ": " + e.Reason
	if e.Next != "" {
		text += ".\n" + e.Next
	}
	return text
}

// ConflictError means that the version is published already with other files.
type ConflictError struct {
	Version layout.ProviderVersion
	Reason  string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("publish %s: %s. Published versions never change; publish a new version", e.Version, e.Reason)
}

// StoreError means that the bucket or the disk refused to store something, because it is full, for
// example. What was stored of it before is not served.
type StoreError struct {
	What string
	Err  error
}

func (e *StoreError) Error() string { return fmt.Sprintf("store %s: %v", e.What, e.Err) }

func (e *StoreError) Unwrap() error { return e.Err }
