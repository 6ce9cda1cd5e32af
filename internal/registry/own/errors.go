// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"fmt"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

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
