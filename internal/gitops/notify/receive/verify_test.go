// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
	"testing"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
)

func sign(kind func() hash.Hash, token, body string) string {
	mac := hmac.New(kind, []byte(token))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// The example of https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
const (
	githubSecret    = "It's a Secret to Everybody"
	githubBody      = "Hello, World!"
	githubSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestVerify(t *testing.T) {
	const token, body, json = "t0ken", "a body", "application/json"
	for sentence, test := range map[string]struct {
		kind        string
		events      []string
		token, body string
		header      http.Header
		// problem is empty for valid hooks.
		problem string
	}{
		"generic: whoever knows the path": {kind: "generic", token: token},
		"generic-hmac: sha1":              {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "sha1="+sign(sha1.New, token, body))},
		"generic-hmac: sha256":            {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "sha256="+sign(sha256.New, token, body))},
		"generic-hmac: sha512":            {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "sha512="+sign(sha512.New, token, body))},
		"generic-hmac: none":              {kind: "generic-hmac", token: token, body: body, problem: "the header X-Signature is missing"},
		"generic-hmac: another token":     {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "sha256="+sign(sha256.New, "other", body)), problem: "does not match the receiver's token"},
		"generic-hmac: another body":      {kind: "generic-hmac", token: token, body: body + " ", header: header("X-Signature", "sha256="+sign(sha256.New, token, body)), problem: "does not match the receiver's token"},
		"generic-hmac: another hash":      {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "md5="+sign(sha256.New, token, body)), problem: "is not a signature"},
		"generic-hmac: half of it":        {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "sha256="+sign(sha256.New, token, body)[:32]), problem: "does not match the receiver's token"},
		"generic-hmac: nothing of it":     {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "sha256="), problem: "does not match the receiver's token"},
		"generic-hmac: not hexadecimal":   {kind: "generic-hmac", token: token, body: body, header: header("X-Signature", "sha256=zz"), problem: "not hexadecimal"},

		"github: the documented example":  {kind: "github", token: githubSecret, body: githubBody, header: header("X-Hub-Signature-256", githubSignature, "Content-Type", json)},
		"github: the older header":        {kind: "github", token: token, body: body, header: header("X-Hub-Signature", "sha1="+sign(sha1.New, token, body), "Content-Type", json)},
		"github: the better header rules": {kind: "github", token: token, body: body, header: header("X-Hub-Signature-256", githubSignature, "X-Hub-Signature", "sha1="+sign(sha1.New, token, body), "Content-Type", json), problem: "X-Hub-Signature-256"},
		"github: unsigned":                {kind: "github", token: token, body: body, header: header("Content-Type", json), problem: "configure the secret in the sender"},
		"github: a form":                  {kind: "github", token: githubSecret, body: githubBody, header: header("X-Hub-Signature-256", githubSignature, "Content-Type", "application/x-www-form-urlencoded")},
		"github: something else":          {kind: "github", token: githubSecret, body: githubBody, header: header("X-Hub-Signature-256", githubSignature, "Content-Type", "text/plain"), problem: "content type"},
		"github: an event that is listed": {kind: "github", events: []string{"ping", "Push"}, token: githubSecret, body: githubBody,
			header: header("X-Hub-Signature-256", githubSignature, "Content-Type", json, "X-GitHub-Event", "push")},
		"github: an event that is not": {kind: "github", events: []string{"ping", "push"}, token: githubSecret, body: githubBody,
			header: header("X-Hub-Signature-256", githubSignature, "Content-Type", json, "X-GitHub-Event", "star"), problem: `the event "star" is not in spec.events`},
		"github: a wrong signature is told before the event": {kind: "github", events: []string{"push"}, token: token, body: githubBody,
			header: header("X-Hub-Signature-256", githubSignature, "Content-Type", json, "X-GitHub-Event", "star"), problem: "signature"},
		"gitea: as GitHub": {kind: "github", events: []string{"push"}, token: token, body: body,
			header: header("X-Hub-Signature-256", "sha256="+sign(sha256.New, token, body), "X-Gitea-Signature", "x", "X-GitHub-Event", "push", "X-Gitea-Event", "push", "Content-Type", json)},
		"gitea: its own header": {kind: "github", events: []string{"push"}, token: token, body: body,
			header: header("X-Gitea-Signature", sign(sha256.New, token, body), "X-Gitea-Event", "push", "Content-Type", json)},
		"gitea: its own header, wrong": {kind: "github", token: token, body: body,
			header: header("X-Gitea-Signature", sign(sha256.New, "other", body), "Content-Type", json), problem: "X-Gitea-Signature"},

		"gitlab: the token": {kind: "gitlab", events: []string{"Push Hook"}, token: token, header: header("X-Gitlab-Token", token, "X-Gitlab-Event", "Push Hook")},
		"gitlab: another":   {kind: "gitlab", token: token, header: header("X-Gitlab-Token", "t0ke"), problem: "is not the receiver's token"},
		"gitlab: none":      {kind: "gitlab", token: token, problem: "the header X-Gitlab-Token is missing"},
		"gitlab: an event that is not listed": {kind: "gitlab", events: []string{"Push Hook"}, token: token,
			header: header("X-Gitlab-Token", token, "X-Gitlab-Event", "Tag Push Hook"), problem: "is not in spec.events"},

		"bitbucket: signed": {kind: "bitbucket", events: []string{"repo:refs_changed"}, token: token, body: body,
			header: header("X-Hub-Signature", "sha256="+sign(sha256.New, token, body), "X-Event-Key", "repo:refs_changed")},
		"bitbucket: wrong": {kind: "bitbucket", token: token, body: body, header: header("X-Hub-Signature", "sha256="+sign(sha256.New, "x", body)), problem: "X-Hub-Signature"},

		"harbor: the token": {kind: "harbor", token: token, header: header("Authorization", token)},
		"harbor: another":   {kind: "harbor", token: token, header: header("Authorization", "Bearer "+token), problem: "Authorization"},

		"nexus: signed": {kind: "nexus", token: token, body: `{"action": "UPDATED"}`, header: header("X-Nexus-Webhook-Signature", sign(sha1.New, token, `{"action": "UPDATED"}`))},
		"nexus: wrong":  {kind: "nexus", token: token, body: `{}`, header: header("X-Nexus-Webhook-Signature", sign(sha1.New, "x", `{}`)), problem: "X-Nexus-Webhook-Signature"},
		"nexus: none":   {kind: "nexus", token: token, body: `{}`, problem: "is missing"},

		"dockerhub: JSON": {kind: "dockerhub", token: token, body: `{"push_data": {"tag": "1.2.3"}, "repository": {"repo_url": "x"}}`},
		"dockerhub: not":  {kind: "dockerhub", token: token, body: `push`, problem: "not a JSON object"},
		"quay: JSON":      {kind: "quay", token: token, body: `{"docker_url": "quay.io/x", "updated_tags": ["1"]}`},
		"acr: a list":     {kind: "acr", token: token, body: `[]`, problem: "not a JSON object"},

		"cdevents: not here": {kind: "cdevents", token: token, problem: "not supported"},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := Verify(&notificationv1.ReceiverSpec{Type: test.kind, Events: test.events}, test.token, test.header, []byte(test.body))
			switch {
			case test.problem == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
				t.Errorf("%v, want a problem with %q", err, test.problem)
			case err != nil && (strings.Contains(err.Error(), token) || test.body != "" && strings.Contains(err.Error(), test.body)):
				t.Errorf("the error contains the token or the body: %v", err)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("github", "X-Hub-Signature-256", githubSignature, githubBody)
	f.Add("nexus", "X-Nexus-Webhook-Signature", "00", "{}")
	f.Add("dockerhub", "", "", `{"a": {}}`)
	f.Fuzz(func(t *testing.T, kind, name, value, body string) {
		h := http.Header{"Content-Type": {"application/json"}, http.CanonicalHeaderKey(name): {value}}
		err := Verify(&notificationv1.ReceiverSpec{Type: kind}, "a token that nobody guesses", h, []byte(body))
		if err == nil && strings.Contains(kind+" ", "hmac ") {
			t.Errorf("%s passes", value)
		}
	})
}
