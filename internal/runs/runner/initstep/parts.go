// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
)

// downloads are the parts of the stores that the run's downloads come from and go to.
type downloads struct {
	run    *execution.Run
	site   *execution.Site
	scoped scoped
}

// moduleStep puts modules of the module store in place.
type moduleStep struct {
	run       *execution.Run
	site      *execution.Site
	program   *supervisor.Supervisor
	downloads *downloads
	// used is what the run has from the store.
	used moduleUse
}

// providerStep has providers in the provider store, and offers them to init.
type providerStep struct {
	run       *execution.Run
	site      *execution.Site
	program   *supervisor.Supervisor
	downloads *downloads
	modules   *moduleStep
	providing providing
}
