// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// NotFoundError means that neither the origin nor the mirror has what was requested.
type NotFoundError struct {
	// What is a provider, a version or an archive.
	What string
	// Known are the platforms or versions that there are, if that helps.
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

// DeniedError means that the lists of the mirror do not allow a provider.
type DeniedError struct {
	Provider layout.Provider
	Reason   string
}

// Is makes the error one of [offer.ErrRefused].
func (e *DeniedError) Is(target error) bool { return target == offer.ErrRefused }

func (e *DeniedError) Error() string {
	return fmt.Sprintf("mirror %s: %s. An administrator can change the lists of the mirror", e.Provider, e.Reason)
}

// OriginError means that the origin did not give a usable answer, and that the mirror does not have
// what was requested.
type OriginError struct {
	// Host is the origin's, What what was requested of it.
	Host, What string
	// Status is the HTTP status of its answer; 0 without an answer.
	Status int
	Err    error
}

// Is makes the error one of [offer.ErrUpstream].
func (e *OriginError) Is(target error) bool { return target == offer.ErrUpstream }

func (e *OriginError) Error() string {
	return fmt.Sprintf("%s of %s: %v", e.What, e.Host, e.Err)
}

func (e *OriginError) Unwrap() error { return e.Err }

// UntrustedError means that the origin's data are wrong: a checksum or signature does not fit.
// Nothing was stored or served.
type UntrustedError struct {
	What string
	Err  error
}

// Is makes the error one of [offer.ErrUpstream].
func (e *UntrustedError) Is(target error) bool { return target == offer.ErrUpstream }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("verify %s: %v. It was neither stored nor served", e.What, e.Err)
}

func (e *UntrustedError) Unwrap() error { return e.Err }

// StoreError means that the bucket refused to store something, because it is full, for example.
type StoreError struct {
	What string
	Err  error
}

func (e *StoreError) Error() string { return fmt.Sprintf("store %s: %v", e.What, e.Err) }

func (e *StoreError) Unwrap() error { return e.Err }
