// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/policy/codeowners"
	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// pullOwners finds the owners of files in the syntax of a forge, as groups of which one must approve each.
func pullOwners(kind forge.Kind, place string, text []byte, files []string) (out [][]string, err error) {
	var file interface {
		Owners(files []string) ([]codeowners.Group, error)
	}
	if kind == forge.Gitea {
		file, err = codeowners.ParseGitea(text)
	} else {
		file, err = codeowners.Parse(place, text)
	}
	if err != nil {
		return nil, err
	}
	groups, err := file.Owners(files)
	for _, g := range groups {
		out = append(out, g.Owners)
	}
	return out, err
}

// speculativeAs translates the identity of plans.
func speculativeAs(id *pullrequests.Identity) *speculative.Identity {
	if id == nil {
		return nil
	}
	return &speculative.Identity{ServiceAccount: id.ServiceAccount, Secrets: id.Secrets}
}

// Inputs implements [pullrequests.Plans].
func (p *pullPlans) Inputs(ctx context.Context, name types.NamespacedName, id string, identity bool) (string, error) {
	obj, err := p.stack(ctx, name, nil)
	if err != nil {
		return "", err
	}
	rec, err := p.engine.executor.Record(ctx, run.StackOf(obj), id)
	if err != nil {
		return "", err
	}
	return rec.Spec.InputsDigest(!identity), nil
}
