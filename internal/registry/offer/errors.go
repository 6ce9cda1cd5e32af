// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package offer

import (
	"fmt"
	"strings"
)

// NotFoundError means that there is no such provider, version, platform, file or key.
type NotFoundError struct {
	What string
	// Known are the ones that there are, if that helps.
	Known []string
}

// Is makes the error one of [ErrNone].
func (e *NotFoundError) Is(target error) bool { return target == ErrNone }

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

// StoreError means that the bucket or the disk refused to store something, because it is full, for
// example. What was stored of it before is not served.
type StoreError struct {
	What string
	Err  error
}

func (e *StoreError) Error() string { return fmt.Sprintf("store %s: %v", e.What, e.Err) }

func (e *StoreError) Unwrap() error { return e.Err }
