// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/api/resource"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
)

// made is an object that kustomize made, in this process or in another.
type made interface {
	GetApiVersion() string
	GetKind() string
	GetNamespace() string
	GetName() string
	MarshalJSON() ([]byte, error)
}

// madeOf are resources as what was made.
func madeOf(resources []*resource.Resource) []made {
	all := make([]made, len(resources))
	for i, r := range resources {
		all[i] = r
	}
	return all
}

// idOf tells what was made from others of the same build.
func idOf(m made) string {
	switch m := m.(type) {
	case *resource.Resource:
		return kustomize.IDOf(m)
	case *kustomize.Object:
		return m.ID
	}
	panic(fmt.Sprintf("a %T was made. This is a bug in Yuba", m))
}

// turn is held by the one build that uses kustomize in this process: it keeps OpenAPI schemas in global variables without
// a lock.
var turn = make(chan struct{}, 1)

// kustomize lets kustomize build the directory in this process. It cannot be interrupted: when the time is up the caller
// goes on, and the turn is free once kustomize is done.
func (l *look) kustomize(ctx context.Context, file string, text []byte, kus *kustypes.Kustomization) ([]made, error) {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for another build to end: %w", context.Cause(ctx))
	}
	type result struct {
		made []made
		err  error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-turn }()
		all, err := l.whole(ctx, file, text, kus, l.run)
		done <- result{all, err}
	}()
	select {
	case r := <-done:
		return r.made, l.explain(r.err)
	case <-ctx.Done():
		return nil, fmt.Errorf("build directory %s: %w", l.t.name(l.t.dir), context.Cause(ctx))
	}
}

// whole builds the directory, in parts if that gives the same. run builds what the tree has now.
func (l *look) whole(ctx context.Context, file string, text []byte, kus *kustypes.Kustomization, run func() ([]made, error)) ([]made, error) {
	all, apart, err := l.parts(ctx, file, kus, run)
	if apart || err != nil {
		return all, err
	}
	l.t.made[file] = text
	return run()
}

// run runs kustomize in this process.
func (l *look) run() ([]made, error) {
	if l.schemas {
		// The next build starts with kustomize's own schemas, which it only reads again when it needs them.
		openapi.ResetOpenAPI()
		openapi.Schema()
		defer openapi.ResetOpenAPI()
	}
	resources, err := kustomize.Run(l.t, l.t.dir)
	return madeOf(resources), err
}
