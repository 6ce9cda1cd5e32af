// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Sources fetches the trees of GitRepositories.
type Sources interface {
	// Base returns the present artifact. It reads, and fetches nothing from the repository.
	Base(ctx context.Context, repository *sourcev1.GitRepository) (*Source, error)
	// Head fetches the head of a pull request. A *MovedError means that it is another commit by now.
	// The caller closes the source.
	Head(ctx context.Context, repository *sourcev1.GitRepository, pull forge.PullRequest) (*Source, error)
	// Including returns the source of a GitRepository that includes others, as it would be with these sources in place of
	// those that the GitRepositories with these names have. It fetches. The caller closes it.
	Including(ctx context.Context, repository *sourcev1.GitRepository, instead map[string]*Source) (*Source, error)
	// Manifests builds the stacks of Kustomizations, of the base, and of the base with the changed files
	// of the head; of the whole head if changed is nil. Values of Secrets are not in them: see Withheld.
	Manifests(ctx context.Context, all []kustomizev1.Kustomization, base, head *Source, changed []string) (before, after []Manifest, err error)
	// Foresee returns the stack that the API would make of a manifest, in JSON, and stores nothing.
	Foresee(ctx context.Context, manifest []byte) ([]byte, error)
}

// Withheld stands for a value of a Secret in a manifest.
const Withheld = "(withheld)"

// Manifest is a stack that a Kustomization makes.
type Manifest struct {
	Namespace, Name string
	// Object is the object in JSON.
	Object []byte
	// Kustomization makes it. Prunes says that it deletes what it makes no more.
	Kustomization types.NamespacedName
	Prunes        bool
}

// Source is a fetched tree. It stays until it is closed.
type Source struct {
	Digest, Revision string
	Size             int64
	Tree             discover.Tree
	Close            func(context.Context)
}

// MovedError means that a ref has another commit than the forge said.
type MovedError struct{ Want, Got string }

func (e *MovedError) Error() string {
	return "the pull request has commit " + e.Got + " by now, no longer " + e.Want
}

// Plans makes speculative plans.
type Plans interface {
	// Plan plans a stack with another source, nil for its own, and with another manifest, nil for its own, as an identity, nil for the stack's own. It returns when the plan has ended; the end of the
	// context cancels it. An error means that there is no plan, for a reason for people.
	Plan(ctx context.Context, stack types.NamespacedName, s *Source, manifest []byte, as *Identity, trigger string) (Plan, error)
	// Inputs identifies the values of inputs that a run of a stack had, as Plan.Inputs does; empty if that is not known. With
	// an identity of their own, plans have other credentials than the run, which are left out.
	Inputs(ctx context.Context, stack types.NamespacedName, run string, identity bool) (string, error)
}

// Identity are the credentials of plans in place of the stack's own.
type Identity struct {
	ServiceAccount string
	// Secrets are those whose keys become environment variables.
	Secrets []string
}

// Plan is a speculative plan that has ended.
type Plan struct {
	// Error is the tool's, masked. Problems are its errors with their places, relative to the root module. Needs are inputs that are unknown until other stacks are applied.
	Error    string
	Problems []comment.Problem
	Needs    []string
	// Digest identifies the changes. Text shows them, without sensitive values.
	Digest string
	// Inputs identifies the values of its inputs; nobody is shown it.
	Inputs string
	Text   string
	// Partial says that Text leaves something out.
	Partial  bool
	Counts   comment.Counts
	Outputs  int
	Verdicts []comment.Verdict
	// Reads are the outputs that it changes.
	Reads Outputs
}

// Approval is the approval of a pending plan by the review of its pull request.
type Approval struct {
	Stack types.NamespacedName
	// Plan is the id of the pending plan, Run the run that made it: a later one of equal changes has the same id, and may have
	// other inputs.
	Plan, Run string
	// Repository names the repository for policies: HOST/OWNER/NAME. By are its members who approved, at least one, with
	// their ids.
	Repository string
	By         []forge.User
	// Asked says that By asked for the apply, and that nobody reviewed it: that satisfies no policy.
	Asked bool
	// Comment says where.
	Comment string
}

// TooLargeError means that a record is larger than the limit.
type TooLargeError struct{ Key string }

func (e *TooLargeError) Error() string { return "the record " + e.Key + " is too large" }

// Store keeps the records.
type Store interface {
	// Get returns a record, or a *TooLargeError.
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	PutBytes(ctx context.Context, key string, data []byte) error
	Delete(ctx context.Context, key string) error
	// Keys lists the keys that begin with a prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
}
