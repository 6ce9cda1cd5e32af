// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"

	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
)

// inProcess allows one build at a time: kustomize's global OpenAPI schemas have no lock.
var inProcess = limiter.New(1)

// here builds in this process. When ctx ends, the caller continues, but the next build waits.
func (l *look) here(ctx context.Context, file string, text []byte, kus *kustypes.Kustomization) ([]*kustomize.Object, error) {
	leave, err := inProcess.Take(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("wait for another build: %w", err)
	}
	type result struct {
		objects []*kustomize.Object
		err     error
	}
	done := make(chan result, 1)
	go func() {
		defer leave()
		all, err := l.whole(ctx, file, text, kus, l.run)
		done <- result{all, err}
	}()
	select {
	case r := <-done:
		return r.objects, l.explain(r.err)
	case <-ctx.Done():
		return nil, fmt.Errorf("build directory %s: %w", l.t.name(l.t.dir), context.Cause(ctx))
	}
}

// whole builds the directory, in parts if the result is the same. run builds the current tree.
func (l *look) whole(ctx context.Context, file string, text []byte, kus *kustypes.Kustomization, run func() ([]*kustomize.Object, error)) ([]*kustomize.Object, error) {
	all, apart, err := l.parts(ctx, file, kus, run)
	if apart || err != nil {
		return all, err
	}
	l.t.made[file] = text
	return run()
}

// run runs kustomize in this process.
func (l *look) run() ([]*kustomize.Object, error) {
	if l.schemas {
		// The next build starts with kustomize's own schemas, which are loaded when needed.
		openapi.ResetOpenAPI()
		openapi.Schema()
		defer openapi.ResetOpenAPI()
	}
	return kustomize.Run(l.t, l.t.dir)
}
