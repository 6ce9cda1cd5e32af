// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"crypto/sha1" //nolint:gosec // senders sign with it
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/kit/signed"
)

// verifiers check the hooks of each type of receiver, and return the event's name, if any.
var verifiers = map[string]func(token string, header http.Header, body []byte) (event string, err error){
	notificationv1.GenericReceiver: func(string, http.Header, []byte) (string, error) { return "", nil },
	notificationv1.GenericHMACReceiver: func(token string, header http.Header, body []byte) (string, error) {
		return "", signed.Signature(token, header, "X-Signature", body)
	},
	notificationv1.GitHubReceiver:    signed.GitHub,
	notificationv1.GitLabReceiver:    verifyGitLab,
	notificationv1.BitbucketReceiver: verifyBitbucket,
	notificationv1.HarborReceiver: func(token string, header http.Header, _ []byte) (string, error) {
		return "", signed.Token(token, header, "Authorization")
	},
	notificationv1.NexusReceiver: verifyNexus,
	// These senders do not sign: only the path is secret.
	notificationv1.DockerHubReceiver: verifyJSON,
	notificationv1.QuayReceiver:      verifyJSON,
	notificationv1.ACRReceiver:       verifyJSON,
}

// Supported reports whether receivers of a type are supported.
func Supported(kind string) bool { return verifiers[kind] != nil }

// Verify checks a hook. Its errors, for the receiver's owner, do not contain the hook's content.
func Verify(spec *notificationv1.ReceiverSpec, token string, header http.Header, body []byte) error {
	verify := verifiers[spec.Type]
	if verify == nil {
		return fmt.Errorf("receivers of type %s are not supported", spec.Type)
	}
	event, err := verify(token, header, body)
	if err != nil {
		return err
	}
	if !hasEvents[spec.Type] || len(spec.Events) == 0 {
		return nil
	}
	if !slices.ContainsFunc(spec.Events, func(wanted string) bool { return strings.EqualFold(wanted, event) }) {
		return fmt.Errorf("the event %q is not in spec.events", clip(event))
	}
	return nil
}

// hasEvents are the types with named events.
var hasEvents = map[string]bool{
	notificationv1.GitHubReceiver: true, notificationv1.GitLabReceiver: true, notificationv1.BitbucketReceiver: true,
}

// clip shortens a header's value for messages.
func clip(text string) string { return shorten.Cut(text, 60) }

func verifyGitLab(token string, header http.Header, _ []byte) (string, error) {
	return header.Get("X-Gitlab-Event"), signed.Token(token, header, "X-Gitlab-Token")
}

func verifyBitbucket(token string, header http.Header, body []byte) (string, error) {
	return header.Get("X-Event-Key"), signed.Signature(token, header, "X-Hub-Signature", body)
}

func verifyNexus(token string, header http.Header, body []byte) (string, error) {
	const name = "X-Nexus-Webhook-Signature"
	signature := header.Get(name)
	if signature == "" {
		return "", fmt.Errorf("the header %s is missing: configure the secret in the sender", name)
	}
	if err := signed.MAC(sha1.New, token, name, signature, body); err != nil {
		return "", err
	}
	return verifyJSON(token, header, body)
}

func verifyJSON(_ string, _ http.Header, body []byte) (string, error) {
	var content map[string]json.RawMessage
	if json.Unmarshal(body, &content) != nil {
		return "", errors.New("the body is not a JSON object")
	}
	return "", nil
}
