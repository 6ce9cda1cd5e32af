// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"testing"
)

func TestSmoke(t *testing.T) {
	newNamespace(t, shared)
}
