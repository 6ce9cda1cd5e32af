// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
)

// A branch that has not moved leads to the module that is in the store already. So a module from git is kept by the commit that
// its repository had, and the repository is asked for that, which takes one exchange, before it is cloned again.

// maxResolve is how long that question may take.
const maxResolve = time.Minute

// moduleResolver asks git repositories where nothing of the stack is but its credentials.
func (m *moduleStep) moduleResolver(f *fetch.Fetcher) modules.Resolver {
	files := m.homeFiles()
	return func(ctx context.Context, dir string, a modules.Answer) (string, error) {
		at, err := fetch.ParseGitSource(a.Source)
		if err != nil {
			return "", err
		}
		git, err := fetch.SystemProgram("git")
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, maxResolve, fmt.Errorf("the repository did not answer within %s", maxResolve))
		defer cancel()
		if err := f.Furnish(dir, files); err != nil {
			return "", err
		}
		out, err := f.Run(ctx, dir, git, slices.Concat([]string{"ls-remote", "--", at.URL}, at.Names())...)
		if err != nil {
			return "", err
		}
		return at.Commit(out)
	}
}
