// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import "fmt"

// DamageError says that the store must not be started: something of it is missing or not what was written. Nothing was
// changed.
type DamageError struct {
	// Problem names the file, below the store's directory, and what is wrong with it.
	Problem string
	// DatabaseIsWhole: the objects are all in the database; only the log of the last changes, or what leads to it, is not
	// usable. Rebuild makes a store of it.
	DatabaseIsWhole bool
}

func (e *DamageError) Error() string { return e.Problem }

func damaged(format string, args ...any) *DamageError {
	return &DamageError{Problem: fmt.Sprintf(format, args...)}
}
