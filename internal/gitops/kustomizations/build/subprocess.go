// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"

	kustypes "sigs.k8s.io/kustomize/api/types"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
)

// maxProcesses is the number of concurrent builds in separate processes.
const maxProcesses = 2

// A namespace builds in one process at a time, which leaves room for others.
var (
	perNamespace = limiter.New(1)
	processes    = limiter.New(maxProcesses)
)

// apart builds the directory in a separate process, which is limited in time and memory. This
// process answers its questions about the tree.
func (l *look) apart(ctx context.Context, in Input, file string, text []byte, kus *kustypes.Kustomization) ([]*kustomize.Object, error) {
	leave, err := perNamespace.Take(ctx, in.Object.Namespace)
	if err != nil {
		return nil, fmt.Errorf("wait for the namespace's other builds: %w", err)
	}
	defer leave()
	exit, err := processes.Take(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("wait for other builds: %w", err)
	}
	defer exit()
	process, err := kustomize.Start(ctx, in.Programs)
	if err != nil {
		return nil, fmt.Errorf("build directory %s in a separate process, because it could grow: %w", l.t.name(l.t.dir), err)
	}
	defer process.Close()
	all, err := l.whole(ctx, file, text, kus, func() ([]*kustomize.Object, error) { return process.Run(l.t, l.t.dir) })
	var exceeded *subprocess.ExceededError
	switch {
	case errors.As(err, &exceeded):
		return nil, &LimitError{Subject: "the directory " + l.t.name(l.t.dir), Grown: exceeded.Limit}
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("build directory %s: %w", l.t.name(l.t.dir), context.Cause(ctx))
	}
	return all, l.explain(err)
}
