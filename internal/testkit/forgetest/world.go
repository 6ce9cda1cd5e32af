// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forgetest

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Token is one of the tokens of our account, which may administer the repository.
type Token string

// The tokens.
const (
	Full     Token = "full"
	ReadOnly Token = "read-only" // lacks the scopes to write
	Wrong    Token = "wrong"
)

// The people. Alice may write, Bob read, Mallory nothing.
const (
	Alice   = "alice"
	Bob     = "bob"
	Mallory = "mallory"
)

// Pull is a pull request to create. The base branch main has the files main.tf, old.tf and gone.tf.
type Pull struct {
	Branch, Title, Author string
	// Write are files to add or change, Remove files to remove, Rename files to rename unchanged.
	Write       map[string]string
	Remove      []string
	Rename      map[string]string
	Draft, Fork bool
	Labels      []string
}

// World is a repository at a forge.
type World interface {
	// Config is the configuration of a connection with a token.
	Config(t testing.TB, token Token) forge.Config
	Open(t testing.TB, c forge.Config) forge.Forge
	// Name is the present name of the repository.
	Name() string

	Create(t testing.TB, p Pull) (number int)
	// Push adds a commit to a pull request, and returns it.
	Push(t testing.TB, number int, write map[string]string) (commit string)
	// Say comments, and returns the comment's id.
	Say(t testing.TB, number int, who, text string) (id string)
	// Review reviews the present head. Not every forge has rejections.
	Review(t testing.TB, number int, who string, v forge.Verdict)
	Merge(t testing.TB, number int) (commit string)
	Close(t testing.TB, number int)
	Rename(t testing.TB, name string)
}

// Traits are the differences between forges that the suite knows.
type Traits struct {
	// NoRejections, NoReviewCommits, NoDrafts, NoLabels: the forge does not tell them.
	NoRejections, NoReviewCommits, NoDrafts, NoLabels bool
	// NoUpdated: all open pull requests are listed, whenever they changed.
	NoUpdated bool
	// NoRights: the rights of others cannot be read. NoRedirects: a renamed repository is not found.
	NoRights, NoRedirects bool
	// Scope is what the error of a missing scope names.
	Scope string
}
