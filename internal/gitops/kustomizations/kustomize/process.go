// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
)

// MaxBuilt limits all objects of a build, in bytes of JSON.
const MaxBuilt = 128 << 20

// program is the name of the process in errors.
const program = "kustomize"

// Process is a program that builds. It is for one goroutine.
type Process struct{ *subprocess.Process }

// Start starts yuba-kustomize in yuba-sandbox. It runs until Close, or until ctx ends.
func Start(ctx context.Context, find subprocess.Finder) (*Process, error) {
	p, err := subprocess.Start(ctx, find, program)
	return &Process{p}, err
}

// Run builds a directory of the tree. It returns errors of kustomize unchanged, and an
// *subprocess.ExceededError if the process exceeded a limit.
func (p *Process) Run(tree filesys.FileSystem, dir string) ([]*Object, error) {
	if err := p.Send(message{Dir: dir}); err != nil {
		return nil, err
	}
	var objects []*Object
	size := 0
	for {
		var m message
		if err := p.Receive(&m); err != nil {
			return nil, err
		}
		switch {
		case m.Ask != nil:
			a := answered(tree, *m.Ask)
			if err := p.Send(message{Answer: &a}); err != nil {
				return nil, err
			}
		case m.Object != nil:
			if size += len(m.Object.JSON); size > MaxBuilt {
				return nil, &subprocess.ExceededError{Program: program, Limit: fmt.Sprintf("%d MiB for all objects", MaxBuilt>>20)}
			}
			objects = append(objects, m.Object)
		case m.End != nil && m.End.Error != "":
			return nil, errors.New(m.End.Error)
		case m.End != nil:
			return objects, nil
		}
	}
}
