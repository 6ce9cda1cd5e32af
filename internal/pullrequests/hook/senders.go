// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/signed"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

var senders = map[forge.Kind]sender{
	forge.GitHub: {signed.GitHub, readGitHub, []string{"X-Github-Delivery"}},
	forge.Gitea:  {verifyGitea, readGitHub, []string{"X-Gitea-Delivery", "X-Forgejo-Delivery", "X-Github-Delivery"}},
	forge.GitLab: {func(secret string, h http.Header, _ []byte) (string, error) {
		return h.Get("X-Gitlab-Event"), signed.Token(secret, h, "X-Gitlab-Token")
	}, readGitLab, []string{"Idempotency-Key", "X-Gitlab-Event-Uuid"}},
	forge.Bitbucket:       {verifyBitbucket, readBitbucket, []string{"X-Request-Uuid"}},
	forge.BitbucketServer: {verifyBitbucket, readBitbucketServer, []string{"X-Request-Id"}},
	forge.AzureDevOps:     {verifyAzure, readAzure, nil},
}

// verifyGitea returns the name of the event that GitHub would send.
func verifyGitea(secret string, h http.Header, body []byte) (string, error) {
	_, err := signed.GitHub(secret, h, body)
	for _, name := range []string{"X-Gitea-Event", "X-Forgejo-Event", "X-Github-Event"} {
		if event := h.Get(name); event != "" {
			return event, err
		}
	}
	return "", errors.Join(err, errors.New("the header X-Gitea-Event is missing"))
}

func verifyBitbucket(secret string, h http.Header, body []byte) (string, error) {
	event := h.Get("X-Event-Key")
	if event == "diagnostics:ping" && h.Get("X-Hub-Signature") == "" {
		return event, nil // the button "Test connection" does not sign, and the event has no effect
	}
	return event, signed.Signature(secret, h, "X-Hub-Signature", body)
}

// verifyAzure checks the password: Azure DevOps does not sign. The event's name is in the body.
func verifyAzure(secret string, h http.Header, _ []byte) (string, error) {
	_, password, ok := (&http.Request{Header: h}).BasicAuth()
	if !ok {
		return "", errors.New("the header Authorization has no password: give one in the settings of the service hook")
	}
	return "", signed.Token(secret, http.Header{"Password": {password}}, "Password")
}

type account struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}

func (a account) user() forge.User { return forge.User{ID: number(a.ID), Name: a.Login} }

func number(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// gitHubBody are the fields of all events of GitHub and Gitea.
type gitHubBody struct {
	Action     string `json:"action"`
	Ref        string `json:"ref"`
	After      string `json:"after"`
	Number     int    `json:"number"`
	IsPull     bool   `json:"is_pull"`
	Repository struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender account `json:"sender"`
	Pull   struct {
		Number int `json:"number"`
	} `json:"pull_request"`
	Issue struct {
		Number int  `json:"number"`
		Pull   *any `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		ID   int64  `json:"id"`
		Body string `json:"body"`
	} `json:"comment"`
}

func readGitHub(event string, body []byte) (Event, error) {
	return decode(body, func(b gitHubBody) Event {
		e := Event{Repository: b.Repository.FullName, RepositoryID: number(b.Repository.ID), Number: max(b.Pull.Number, b.Number, b.Issue.Number), Sender: b.Sender.user()}
		switch {
		case event == "push":
			return pushed(e.Repository, e.RepositoryID, b.Ref, b.After, e.Sender)
		case event == "pull_request_comment" && b.Comment.ID == 0:
			e.Kind = Review // Gitea's name of a review that only comments
		case event == "issue_comment", event == "pull_request_comment":
			if b.Issue.Pull == nil && !b.IsPull && b.Pull.Number == 0 || b.Action == "deleted" {
				return Event{} // of an issue
			}
			e.Kind, e.CommentID, e.Text = Comment, number(b.Comment.ID), b.Comment.Body
		case event == "pull_request_review", event == "pull_request_approved", event == "pull_request_rejected",
			event == "pull_request_review_approved", event == "pull_request_review_rejected":
			e.Kind = Review
		case event == "pull_request", event == "pull_request_sync", event == "pull_request_label":
			e.Kind = PullRequest
		default:
			return Event{}
		}
		return e
	})
}

type gitLabBody struct {
	Ref     string `json:"ref"`
	After   string `json:"after"`
	Project struct {
		ID   int64  `json:"id"`
		Path string `json:"path_with_namespace"`
	} `json:"project"`
	User struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
	} `json:"user"`
	UserID   int64  `json:"user_id"`
	UserName string `json:"user_username"`
	Object   struct {
		ID     int64  `json:"id"`
		IID    int    `json:"iid"`
		Action string `json:"action"`
		Note   string `json:"note"`
		Type   string `json:"noteable_type"`
	} `json:"object_attributes"`
	Merge struct {
		IID int `json:"iid"`
	} `json:"merge_request"`
}

func readGitLab(event string, body []byte) (Event, error) {
	return decode(body, func(b gitLabBody) Event {
		who := forge.User{ID: number(max(b.User.ID, b.UserID)), Name: b.User.Username + b.UserName}
		e := Event{Repository: b.Project.Path, RepositoryID: number(b.Project.ID), Sender: who}
		switch {
		case event == "Push Hook":
			return pushed(e.Repository, e.RepositoryID, b.Ref, b.After, who)
		case event == "Note Hook" && b.Object.Type == "MergeRequest":
			e.Kind, e.Number, e.CommentID, e.Text = Comment, b.Merge.IID, number(b.Object.ID), b.Object.Note
		case event == "Merge Request Hook":
			e.Kind, e.Number = PullRequest, b.Object.IID
			switch b.Object.Action {
			case "approved", "unapproved", "approval", "unapproval":
				e.Kind = Review
			}
		default:
			return Event{}
		}
		return e
	})
}

type bitbucketBody struct {
	Repository struct {
		UUID     string `json:"uuid"`
		FullName string `json:"full_name"`
	} `json:"repository"`
	Actor struct {
		UUID     string `json:"uuid"`
		Nickname string `json:"nickname"`
	} `json:"actor"`
	Pull struct {
		ID int `json:"id"`
	} `json:"pullrequest"`
	Comment struct {
		ID      int64 `json:"id"`
		Content struct {
			Raw string `json:"raw"`
		} `json:"content"`
	} `json:"comment"`
	Push struct {
		Changes []struct {
			New *target `json:"new"`
			Old *target `json:"old"`
		} `json:"changes"`
	} `json:"push"`
}

type target struct {
	Type, Name string
	Target     struct{ Hash string }
}

func readBitbucket(event string, body []byte) (Event, error) {
	return decode(body, func(b bitbucketBody) Event {
		e := Event{Repository: b.Repository.FullName, RepositoryID: b.Repository.UUID, Number: b.Pull.ID, Sender: forge.User{ID: b.Actor.UUID, Name: b.Actor.Nickname}}
		if event == "repo:push" {
			return bitbucketPush(b, e)
		}
		what, ok := strings.CutPrefix(event, "pullrequest:")
		switch {
		case !ok || what == "comment_deleted":
			return Event{}
		case what == "comment_created", what == "comment_updated":
			e.Kind, e.CommentID, e.Text = Comment, number(b.Comment.ID), b.Comment.Content.Raw
		case what == "approved", what == "unapproved", strings.HasPrefix(what, "changes_request"):
			e.Kind = Review
		default:
			e.Kind = PullRequest
		}
		return e
	})
}

// bitbucketPush is the first branch of a push: several are pushed at once seldom, and polling finds the others.
func bitbucketPush(b bitbucketBody, e Event) Event {
	for _, c := range b.Push.Changes {
		switch {
		case c.New != nil && c.New.Type == "branch":
			return pushed(e.Repository, e.RepositoryID, "refs/heads/"+c.New.Name, c.New.Target.Hash, e.Sender)
		case c.New == nil && c.Old != nil && c.Old.Type == "branch":
			return pushed(e.Repository, e.RepositoryID, "refs/heads/"+c.Old.Name, "", e.Sender)
		}
	}
	return Event{}
}

type serverRepository struct {
	ID      int64  `json:"id"`
	Slug    string `json:"slug"`
	Project struct {
		Key string `json:"key"`
	} `json:"project"`
}

func (r serverRepository) name() string {
	if r.Slug == "" {
		return ""
	}
	return r.Project.Key + "/" + r.Slug
}

type bitbucketServerBody struct {
	Actor struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"actor"`
	Repository serverRepository `json:"repository"`
	Changes    []struct {
		RefID  string `json:"refId"`
		ToHash string `json:"toHash"`
		Type   string `json:"type"`
	} `json:"changes"`
	Pull struct {
		ID int `json:"id"`
		To struct {
			Repository serverRepository `json:"repository"`
		} `json:"toRef"`
	} `json:"pullRequest"`
	Comment struct {
		ID   int64  `json:"id"`
		Text string `json:"text"`
	} `json:"comment"`
}

func readBitbucketServer(event string, body []byte) (Event, error) {
	return decode(body, func(b bitbucketServerBody) Event {
		who := forge.User{ID: number(b.Actor.ID), Name: b.Actor.Name}
		if event == "repo:refs_changed" {
			for _, c := range b.Changes {
				if e := pushed(b.Repository.name(), number(b.Repository.ID), c.RefID, c.ToHash, who); e.Kind != Ignored {
					return e
				}
			}
			return Event{}
		}
		what, ok := strings.CutPrefix(event, "pr:")
		to := b.Pull.To.Repository
		e := Event{Kind: PullRequest, Repository: to.name(), RepositoryID: number(to.ID), Number: b.Pull.ID, Sender: who}
		switch {
		case !ok || what == "comment:deleted":
			return Event{}
		case strings.HasPrefix(what, "comment:"):
			e.Kind, e.CommentID, e.Text = Comment, number(b.Comment.ID), b.Comment.Text
		case strings.HasPrefix(what, "reviewer:") && what != "reviewer:updated":
			e.Kind = Review
		}
		return e
	})
}

type azureRepository struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Project struct {
		Name string `json:"name"`
	} `json:"project"`
}

type azureBody struct {
	ID        string `json:"id"`
	EventType string `json:"eventType"`
	Resource  struct {
		Repository azureRepository `json:"repository"`
		Number     int             `json:"pullRequestId"`
		Updates    []struct {
			Name  string `json:"name"`
			NewID string `json:"newObjectId"`
		} `json:"refUpdates"`
		Comment struct {
			ID      int64  `json:"id"`
			Content string `json:"content"`
			Deleted bool   `json:"isDeleted"`
		} `json:"comment"`
		Pull struct {
			Number     int             `json:"pullRequestId"`
			Repository azureRepository `json:"repository"`
		} `json:"pullRequest"`
	} `json:"resource"`
}

func readAzure(_ string, body []byte) (Event, error) {
	return decode(body, func(b azureBody) Event {
		r := b.Resource
		repository := r.Repository
		if repository.ID == "" {
			repository = r.Pull.Repository
		}
		e := Event{Delivery: b.ID, RepositoryID: repository.ID, Number: max(r.Number, r.Pull.Number)}
		if repository.Name != "" {
			e.Repository = repository.Project.Name + "/" + repository.Name
		}
		switch b.EventType {
		case "git.push":
			for _, u := range r.Updates {
				if p := pushed(e.Repository, e.RepositoryID, u.Name, u.NewID, forge.User{}); p.Kind != Ignored {
					p.Delivery = b.ID
					return p
				}
			}
			return Event{}
		case "git.pullrequest.created", "git.pullrequest.updated", "git.pullrequest.merged":
			e.Kind = PullRequest
		case "ms.vss-code.git-pullrequest-comment-event":
			if r.Comment.Deleted {
				return Event{}
			}
			e.Kind, e.CommentID, e.Text = Comment, number(r.Comment.ID), r.Comment.Content
		default:
			return Event{}
		}
		return e
	})
}
