// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"sync"

	kustypes "sigs.k8s.io/kustomize/api/types"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/apart"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
)

// maxProcesses is how many builds have a process of their own at a time.
const maxProcesses = 2

// places are the turns of those who build in a process of their own. A namespace has one, so that one that takes all the
// time there is leaves the rest to others.
var places = struct {
	all chan struct{}
	sync.Mutex
	namespaces map[string]*namespaceTurn
}{all: make(chan struct{}, maxProcesses), namespaces: map[string]*namespaceTurn{}}

// namespaceTurn is the one turn of a namespace.
type namespaceTurn struct {
	turn  chan struct{}
	users int
}

// takePlace waits for a turn; leave ends it.
func takePlace(ctx context.Context, namespace string) (leave func(), err error) {
	places.Lock()
	own := places.namespaces[namespace]
	if own == nil {
		own = &namespaceTurn{turn: make(chan struct{}, 1)}
		places.namespaces[namespace] = own
	}
	own.users++
	places.Unlock()
	forget := func() {
		places.Lock()
		defer places.Unlock()
		if own.users--; own.users == 0 {
			delete(places.namespaces, namespace)
		}
	}
	select {
	case own.turn <- struct{}{}:
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
	select {
	case places.all <- struct{}{}:
	case <-ctx.Done():
		<-own.turn
		forget()
		return nil, context.Cause(ctx)
	}
	return func() {
		<-places.all
		<-own.turn
		forget()
	}, nil
}

// apart lets kustomize build the directory in a process of its own, which ends when it takes too much or the time is up.
// This process answers its questions about the tree.
func (l *look) apart(ctx context.Context, in Input, file string, text []byte, kus *kustypes.Kustomization) ([]made, error) {
	leave, err := takePlace(ctx, in.Object.Namespace)
	if err != nil {
		return nil, fmt.Errorf("wait for other builds to end: %w", err)
	}
	defer leave()
	process, err := kustomize.Start(ctx, in.Programs)
	if err != nil {
		return nil, fmt.Errorf("build directory %s in a process of its own, as it could grow while it is built: %w", l.t.name(l.t.dir), err)
	}
	defer process.Close()
	all, err := l.whole(ctx, file, text, kus, func() ([]made, error) {
		objects, err := process.Run(l.t, l.t.dir)
		all := make([]made, len(objects))
		for i, o := range objects {
			all[i] = o
		}
		return all, err
	})
	var exceeded *apart.ExceededError
	switch {
	case errors.As(err, &exceeded):
		return nil, &LimitError{Subject: "the directory " + l.t.name(l.t.dir), Grown: exceeded.Limit}
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("build directory %s: %w", l.t.name(l.t.dir), context.Cause(ctx))
	}
	return all, l.explain(err)
}
