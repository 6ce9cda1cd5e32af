// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import "fmt"

// DamageError means that the store must not be started: a part is missing or changed. Check has
// changed nothing.
type DamageError struct {
	// Problem names the file, below the store's directory, and what is wrong with it.
	Problem string
	// DatabaseIsWhole: the database has all objects; only the log of the last changes is unusable.
	// Rebuild can make a new store from it.
	DatabaseIsWhole bool
}

func (e *DamageError) Error() string { return e.Problem }

func damaged(format string, args ...any) *DamageError {
	return &DamageError{Problem: fmt.Sprintf(format, args...)}
}
