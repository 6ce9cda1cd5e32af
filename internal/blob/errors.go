// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"errors"
	"fmt"
)

// ErrNotFound means that no blob has the key. Test with errors.Is.
var ErrNotFound = errors.New("no such blob")

// ErrExists means that an object has the key already.
var ErrExists = errors.New("it exists already")

// TooLargeError means that content exceeds the limit of its reader or writer.
type TooLargeError struct {
	Key   string // the blob, or "artifact" before its key is known
	Limit int64  // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than the limit of %d bytes", e.Key, e.Limit)
}

// DigestError means that an artifact's content does not match its digest: it was damaged or
// replaced in the store.
type DigestError struct {
	Want, Got string
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("artifact %s has the content of %s: it was damaged in the blob store; push its source again", e.Want, e.Got)
}

// SealError means that the store's key cannot decrypt a blob, or that its encrypted bytes were
// changed.
type SealError struct {
	Key string
	Err error
}

func (e *SealError) Error() string {
	return fmt.Sprintf("decrypt %s: %v", e.Key, e.Err)
}

func (e *SealError) Unwrap() error { return e.Err }
