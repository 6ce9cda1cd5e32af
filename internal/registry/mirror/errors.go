// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

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

// LoopError means that the origin's address leads back to this mirror.
type LoopError struct{ Provider layout.Provider }

// Is makes the error one of [offer.ErrLoop].
func (e *LoopError) Is(target error) bool { return target == offer.ErrLoop }

func (e *LoopError) Error() string {
	return fmt.Sprintf("mirror %s: this mirror is asking itself: the addresses that %s gives, or the mirrors behind it, lead back here. Correct the address in the service discovery of %s, or deny it with --registry-mirror-deny '%s/*/*'",
		e.Provider, e.Provider.Host, e.Provider.Host, e.Provider.Host)
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
