// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// rememberableTags limits remembered lists: longer ones are only for the callers that wait for them.
const rememberableTags = 5000

// Canonical returns the full name of the repository, such as index.docker.io/library/alpine.
func (r *Repository) Canonical() (string, error) {
	repository, err := r.parse()
	if err != nil {
		return "", err
	}
	return repository.Name(), nil
}

// Tags lists the names of all tags, as the registry has them: they need not be valid, nor in order. Do
// not modify the result. fresh requires a look that begins now.
func (c *Client) Tags(ctx context.Context, r *Repository, fresh bool) ([]string, error) {
	repository, err := r.parse()
	if err != nil {
		return nil, err
	}
	wanted, options := *r, upstream.Options{MaxAge: r.MaxAge, Timeout: r.Timeout, Fresh: fresh}
	tags, err := c.lists.Look(ctx, r.identity("tags", fmt.Sprint(r.Timeout)), options, func(ctx context.Context, _ *[]string) ([]string, error) {
		g, err := wanted.connect(ctx, repository)
		if err != nil {
			return nil, err
		}
		tags, err := g.tags(ctx)
		return slices.Clip(tags), err
	})
	return tags, attempted(reasonRead, "list the tags of "+shown(repository), err)
}

// DigestOf returns the digest of a tag now.
func (c *Client) DigestOf(ctx context.Context, r *Repository, tag string) (string, error) {
	repository, err := r.parse()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if !validTag(repository, tag) || tag == "" {
		return "", upstream.Failed(reasonRead, nil, "%q is not a valid tag", tag)
	}
	digest, err := r.digestOf(ctx, repository, tag)
	return digest, attempted(reasonRead, "resolve "+shown(repository)+":"+tag, err)
}

func (r *Repository) digestOf(ctx context.Context, repository name.Repository, tag string) (string, error) {
	g, err := r.connect(ctx, repository)
	if err != nil {
		return "", err
	}
	digest, err := g.digestOf(ctx, tag)
	return digest.String(), err
}
