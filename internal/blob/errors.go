// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"errors"
	"fmt"
)

// ErrNotFound reports that no blob has the key. Test for it with errors.Is.
var ErrNotFound = errors.New("no such blob")

// TooLargeError reports content above the limit its reader or writer set.
type TooLargeError struct {
	Key   string // the blob, or "artifact" for one that has no key yet
	Limit int64  // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than the limit of %d bytes", e.Key, e.Limit)
}

// DigestError reports an artifact whose content is not what its digest promises: it was damaged or exchanged in the store.
type DigestError struct {
	Want, Got string
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("artifact %s has the content of %s: it was damaged in the blob store; push its source again", e.Want, e.Got)
}

// SealError reports a blob that the store's key does not open, or whose sealed bytes were changed.
type SealError struct {
	Key string
	Err error
}

func (e *SealError) Error() string {
	return fmt.Sprintf("open the seal of %s: %v", e.Key, e.Err)
}

func (e *SealError) Unwrap() error { return e.Err }
