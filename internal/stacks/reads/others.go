// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Artifact returns the artifact of a source, for others than stacks, and has it in the store. The user
// must fix a *SourceError; other errors are transient.
func (s *Sources) Artifact(ctx context.Context, kind string, name types.NamespacedName) (run.Artifact, error) {
	return s.referenced(ctx, kind, name)
}
