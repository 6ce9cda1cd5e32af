// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// newLockInfo is the holder of a new lock.
func newLockInfo(operation, who string) LockInfo {
	return LockInfo{ID: string(uuid.NewUUID()), Operation: operation, Who: who, Created: time.Now().UTC()}
}
