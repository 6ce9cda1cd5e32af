// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// MaxBody limits a hook's body. GitHub sends at most 25 MB, but those of pull requests have some kilobytes.
const MaxBody = 3 << 20

// Kind is what an event is about.
type Kind string

// The kinds.
const (
	// Ignored: an event that is of no interest, such as a ping.
	Ignored     Kind = ""
	Push        Kind = "push"
	PullRequest Kind = "pull request"
	Comment     Kind = "comment"
	Review      Kind = "review"
)

// Event is what a hook says.
type Event struct {
	Kind Kind
	// Delivery is the id of the delivery, empty if the forge sends none.
	Delivery string
	// Repository is the name of the repository, RepositoryID its id if the hook has it.
	Repository, RepositoryID string
	// Number is the pull request's, except of pushes.
	Number int
	// Branch and Commit are those that a push moved. The commit of a deleted branch is empty.
	Branch, Commit string
	// CommentID and Text are a new or changed comment's.
	CommentID, Text string
	Sender          forge.User
}

// ForgedError means that a hook is not from its forge, or that the secrets differ.
type ForgedError struct{ Reason string }

func (e *ForgedError) Error() string { return "verify the webhook: " + e.Reason }

// InvalidError means that a verified hook cannot be read.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "read the webhook: " + e.Reason }

// ErrTooLarge means that a hook has more than MaxBody.
var ErrTooLarge = errors.New("read the webhook: it is larger than 3 MiB")

// Read reads the body of a request, within its limit.
func Read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, ErrTooLarge
	case err != nil:
		return nil, &InvalidError{"the connection ended before the body"}
	}
	return body, nil
}

// Parse verifies a hook and reads its event.
func Parse(kind forge.Kind, secret forge.Secret, header http.Header, body []byte) (Event, error) {
	s, ok := senders[kind]
	if !ok {
		return Event{}, fmt.Errorf("webhooks of %q are not supported", kind)
	}
	if secret == "" {
		return Event{}, &ForgedError{"there is no secret to compare with: add one to the receiver and the forge"}
	}
	if len(body) > MaxBody {
		return Event{}, ErrTooLarge
	}
	name, err := s.verify(string(secret), header, body)
	if err != nil {
		return Event{}, &ForgedError{err.Error()}
	}
	content, err := unwrap(header, body)
	if err != nil {
		return Event{}, err
	}
	e, err := s.read(name, content)
	if err != nil {
		return Event{}, &InvalidError{"the body is not the JSON of such an event"}
	}
	if e.Kind != Ignored && (e.Kind != Push && e.Number <= 0 || e.Repository == "") {
		return Event{}, &InvalidError{"the body does not name a repository and a pull request"}
	}
	for _, id := range s.delivery {
		if e.Delivery == "" {
			e.Delivery = header.Get(id)
		}
	}
	return e, nil
}

// unwrap returns the JSON of a body that can be a form.
func unwrap(header http.Header, body []byte) ([]byte, error) {
	form, _, _ := mime.ParseMediaType(header.Get("Content-Type")) //nolint:errcheck // the JSON shows
	if form != "application/x-www-form-urlencoded" {
		return body, nil
	}
	values, err := url.ParseQuery(string(body))
	if err != nil || values.Get("payload") == "" {
		return nil, &InvalidError{"the form has no payload"}
	}
	return []byte(values.Get("payload")), nil
}

// sender has the differences between the forges.
type sender struct {
	// verify checks a hook and returns the name of its event.
	verify func(secret string, header http.Header, body []byte) (event string, err error)
	read   func(event string, body []byte) (Event, error)
	// delivery are the headers with the id.
	delivery []string
}

// decode reads JSON into a value.
func decode[T any](body []byte, read func(T) Event) (Event, error) {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return Event{}, err
	}
	return read(v), nil
}

// branch is the branch of a ref, empty for tags.
func branch(ref string) string {
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return ""
	}
	return name
}

// commit is a commit, empty for the zeros of a deleted branch.
func commit(id string) string {
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// pushed is the event of a push. Tags are of no interest.
func pushed(repository, id, ref, after string, who forge.User) Event {
	if branch(ref) == "" {
		return Event{}
	}
	return Event{Kind: Push, Repository: repository, RepositoryID: id, Branch: branch(ref), Commit: commit(after), Sender: who}
}
