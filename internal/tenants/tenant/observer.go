// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import "time"

// Observer is notified of passes and writes, for metrics. Its methods must not block.
type Observer interface {
	// TenantPass is a pass over a tenant; result is success, partial_failure or error.
	TenantPass(result string, took time.Duration)
	// TenantWrite is an attempt to write an object; result is success or error, policy the object's
	// conflictPolicy.
	TenantWrite(kind, result, policy string)
	// TenantConflict is an object that has another owner.
	TenantConflict(namespace, tenant, kind, policy string)
}

// silent observes nothing.
type silent struct{}

func (silent) TenantPass(string, time.Duration)              {}
func (silent) TenantWrite(string, string, string)            {}
func (silent) TenantConflict(string, string, string, string) {}
