// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "github.com/yuba-dev/yuba/internal/tofu/module"

// Installed is a configuration after init, before anything of it is executed: what its modules
// declare, those from elsewhere among them, and what init resolved.
type Installed struct {
	Tree *module.Tree `json:"tree"`
	// LockFile is the dependency lock file; empty for none.
	LockFile []byte `json:"lockFile,omitempty"`
	// Uses are the resolved modules and providers.
	Uses *Uses `json:"uses,omitempty"`
}
