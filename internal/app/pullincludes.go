// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
)

// Including implements [pullrequests.Sources]: the commit of the present artifact, with other sources in place of some
// that it includes. Files that these do not have any more cannot stay, as they could in a copy of the artifact.
func (p *pullSources) Including(ctx context.Context, repository *sourcev1.GitRepository, instead map[string]*pullrequests.Source) (*pullrequests.Source, error) {
	if repository.Status.Artifact == nil {
		return nil, fmt.Errorf("the GitRepository %s has no artifact yet", repository.Name)
	}
	revision := repository.Status.Artifact.Revision
	commit := revision[strings.LastIndex(revision, ":")+1:]
	if !fullCommit.MatchString(commit) {
		return nil, fmt.Errorf("the revision %q of GitRepository %s does not name a commit", revision, repository.Name)
	}
	at := repository.DeepCopy()
	at.Spec.Reference = &sourcev1.GitRepositoryRef{Commit: commit}
	if given := repository.Spec.Reference; given != nil {
		at.Spec.Reference.Branch = given.Branch
	}
	digests := map[string]string{}
	for name, s := range instead {
		digests[name] = s.Digest
	}
	a, err := p.fetch(ctx, at, commit, digests)
	if err != nil {
		return nil, err
	}
	return p.transient(ctx, a)
}
