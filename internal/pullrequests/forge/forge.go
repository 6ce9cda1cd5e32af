// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"context"
	"strings"
	"time"
)

// Kind is a forge's kind of API.
type Kind string

// The kinds. Forgejo speaks Gitea's API.
const (
	Gitea           Kind = "gitea"
	GitHub          Kind = "github"
	GitLab          Kind = "gitlab"
	Bitbucket       Kind = "bitbucket"
	BitbucketServer Kind = "bitbucketserver"
	AzureDevOps     Kind = "azuredevops"
)

// Forge is a connection to a forge about one repository. It is safe for concurrent use.
type Forge interface {
	// Kind returns the kind of API.
	Kind() Kind
	// Limits returns what the forge allows and can do. It does not ask the forge.
	Limits() Limits
	// Rate returns what the last responses said about the limit of requests.
	Rate() Rate

	// Repository fetches the repository, by its present name.
	Repository(ctx context.Context) (Repository, error)
	// PullRequests lists open pull requests that changed at or after a time, the zero time for all of
	// them. Forges without such a time list all.
	PullRequests(ctx context.Context, since time.Time) ([]PullRequest, error)
	// PullRequest fetches one, in any state.
	PullRequest(ctx context.Context, number int) (PullRequest, error)
	// ChangedFiles lists at most so many of the files that differ between a pull request's head and the
	// point where it left its base.
	ChangedFiles(ctx context.Context, number, most int) (Changes, error)
	// File fetches a file's content at a commit or branch.
	File(ctx context.Context, path, ref string) ([]byte, error)

	// SetStatus sets the status of that name of a commit, unless the commit has an equal one.
	SetStatus(ctx context.Context, commit string, s Status) error
	// Statuses lists the newest status of each name of a commit.
	Statuses(ctx context.Context, commit string) ([]Status, error)
	// SetComment writes our comment: it edits the oldest comment of ours that contains the marker, or
	// creates one. The text must contain the marker.
	SetComment(ctx context.Context, number int, marker, text string) (Comment, error)
	// Comments lists the comments of a pull request, the oldest first, that changed at or after a time.
	Comments(ctx context.Context, number int, since time.Time) ([]Comment, error)
	// React adds a reaction of ours to a comment. Repeated, it changes nothing.
	React(ctx context.Context, number int, comment string, r Reaction) error
	// Reviews lists the present review of each person.
	Reviews(ctx context.Context, number int) ([]Review, error)
	// Right fetches what a person may do in the repository.
	Right(ctx context.Context, who User) (Right, error)
}

// Repository is a repository as its forge describes it.
type Repository struct {
	// ID stays the same when the repository is renamed, Name does not: owner/name.
	ID, Name string
	// Branch is the default branch.
	Branch string
	// URL is the page, Clone the https address of git.
	URL, Clone string
	Private    bool
	// Archived repositories accept no writes.
	Archived bool
}

// User is a person or program with an account.
type User struct {
	// ID identifies the account forever, if the forge tells it. Name is what others call it by.
	ID, Name string
}

// Is reports whether two are one person. An equal name is enough: who is taken for the author loses a right only.
func (u User) Is(o User) bool {
	return u.ID != "" && u.ID == o.ID || strings.EqualFold(u.Name, o.Name)
}

// State is whether a pull request is open.
type State string

// The states of pull requests.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// End is one of the two ends of a pull request.
type End struct {
	// Repository is the name of the repository, empty if it was deleted.
	Repository string
	Branch     string
	Commit     string
}

// PullRequest is a pull request.
type PullRequest struct {
	Number int
	Title  string
	URL    string
	Author User
	State  State
	Draft  bool
	// Fork says that the head is in another repository, whose writers need no right in this one.
	Fork bool
	// Conflict says that the forge knows that it cannot be merged. Not all forges tell.
	Conflict   bool
	Head, Base End
	// Ref is the ref of the base's repository that has the head, empty if the forge has none.
	Ref    string
	Labels []string
	// MergeCommit is the commit in the base that has the changes, once it is merged.
	MergeCommit string
	// Updated is zero if the forge does not tell it.
	Updated time.Time
}

// Action is what happened to a file.
type Action string

// The actions.
const (
	Added    Action = "added"
	Modified Action = "modified"
	Removed  Action = "removed"
	Renamed  Action = "renamed"
)

// File is a changed file.
type File struct {
	Path string
	// Before is the path of a renamed file before.
	Before string
	Action Action
}

// Changes are the files that a pull request changes.
type Changes struct {
	Files []File
	// Incomplete says that there are more: because of the limit given, or of the forge's own.
	Incomplete bool
}

// Result is the result that a status shows.
type Result string

// The results.
const (
	Pending Result = "pending"
	Success Result = "success"
	Failure Result = "failure"
)

// Status is the result beside a commit.
type Status struct {
	// Name tells statuses of a commit apart.
	Name        string
	Result      Result
	Description string
	// URL is the page with details. It may be empty, except at Bitbucket.
	URL string
	// Annotations are shown at lines of files, where Limits.Annotations is true. Statuses does not list them.
	Annotations []Annotation
}

// Annotation is a message about a line of a file.
type Annotation struct {
	Path    string
	Line    int
	Title   string
	Message string
}

// Comment is a comment.
type Comment struct {
	ID     string
	Author User
	Text   string
	URL    string
	// Mine says that our own account wrote it.
	Mine             bool
	Created, Updated time.Time
}

// Reaction is a small answer to a comment.
type Reaction string

// The reactions.
const (
	Seen Reaction = "seen" // it is being worked on
	Good Reaction = "good"
	Bad  Reaction = "bad"
)

// Verdict is what a review says.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	Rejected Verdict = "rejected" // changes are requested
)

// Review is the present opinion of one person. Mere comments are none.
type Review struct {
	Who     User
	Verdict Verdict
	// Commit is the head that was reviewed, empty if the forge does not tell it: then it may be any.
	Commit string
	// At is zero if the forge does not tell it.
	At time.Time
}

// Right is what somebody may do in a repository.
type Right int

// The rights, each including those before it.
const (
	None Right = iota
	Read
	Write
	Admin
)

func (r Right) String() string { return [...]string{"none", "read", "write", "admin"}[r] }

// Limits are what a forge allows and can do.
type Limits struct {
	// Comment is the largest size of a comment in bytes. Forges count characters, which are at most as many.
	Comment int
	// Description and Name are the largest sizes of a status' fields, in characters.
	Description, Name int
	// Files is the number of changed files that the forge lists at most.
	Files int
	// Details says that comments may fold text with <details>, Hidden that HTML comments are not shown.
	Details, Hidden bool
	// Reactions and Annotations say whether the forge has them.
	Reactions, Annotations bool
	// Codeowners are the paths of the file CODEOWNERS: the first one that exists counts.
	Codeowners []string
}

// Rate is a forge's limit of requests.
type Rate struct {
	// Known is false until a response said something.
	Known            bool
	Limit, Remaining int
	Reset            time.Time
}
