// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // senders sign with it
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"mime"
	"net/http"
	"slices"
	"strings"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// verifiers check the hooks of each type of receiver, and return the event's name, if any.
var verifiers = map[string]func(token string, header http.Header, body []byte) (event string, err error){
	notificationv1.GenericReceiver: func(string, http.Header, []byte) (string, error) { return "", nil },
	notificationv1.GenericHMACReceiver: func(token string, header http.Header, body []byte) (string, error) {
		return "", checkSignature(token, header, "X-Signature", body)
	},
	notificationv1.GitHubReceiver:    verifyGitHub,
	notificationv1.GitLabReceiver:    verifyGitLab,
	notificationv1.BitbucketReceiver: verifyBitbucket,
	notificationv1.HarborReceiver: func(token string, header http.Header, _ []byte) (string, error) {
		return "", checkToken(token, header, "Authorization")
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

// verifyGitHub checks hooks of GitHub, Gitea and Forgejo, by the stronger of two signatures. The
// headers of Gitea and Forgejo do not name the hash.
func verifyGitHub(token string, header http.Header, body []byte) (string, error) {
	event := header.Get("X-Github-Event")
	for _, name := range []string{"X-Hub-Signature-256", "X-Hub-Signature"} {
		if header.Get(name) != "" {
			return event, errors.Join(checkForm(header), checkSignature(token, header, name, body))
		}
	}
	for _, name := range []string{"X-Gitea-Signature", "X-Forgejo-Signature"} {
		if signature := header.Get(name); signature != "" {
			return header.Get(strings.Replace(name, "Signature", "Event", 1)),
				errors.Join(checkForm(header), checkMAC(sha256.New, token, name, signature, body))
		}
	}
	return "", errors.New("the header X-Hub-Signature-256 is missing: configure the secret in the sender")
}

// checkForm refuses content types that these senders do not use.
func checkForm(header http.Header) error {
	form, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || form != "application/json" && form != "application/x-www-form-urlencoded" {
		return errors.New("the content type is neither application/json nor application/x-www-form-urlencoded")
	}
	return nil
}

func verifyGitLab(token string, header http.Header, _ []byte) (string, error) {
	return header.Get("X-Gitlab-Event"), checkToken(token, header, "X-Gitlab-Token")
}

func verifyBitbucket(token string, header http.Header, body []byte) (string, error) {
	return header.Get("X-Event-Key"), checkSignature(token, header, "X-Hub-Signature", body)
}

func verifyNexus(token string, header http.Header, body []byte) (string, error) {
	const name = "X-Nexus-Webhook-Signature"
	signature := header.Get(name)
	if signature == "" {
		return "", fmt.Errorf("the header %s is missing: configure the secret in the sender", name)
	}
	if err := checkMAC(sha1.New, token, name, signature, body); err != nil {
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

// checkToken compares a header with the token.
func checkToken(token string, header http.Header, name string) error {
	given := header.Get(name)
	if given == "" {
		return fmt.Errorf("the header %s is missing", name)
	}
	// Digests have equal lengths, so that the time does not reveal the token's length.
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return fmt.Errorf("the header %s is not the receiver's token", name)
	}
	return nil
}

// hashes are the hashes in signatures.
var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// checkSignature checks a header such as sha256=757107ea….
func checkSignature(token string, header http.Header, name string, body []byte) error {
	signature := header.Get(name)
	if signature == "" {
		return fmt.Errorf("the header %s is missing: configure the secret in the sender", name)
	}
	kind, digest, ok := strings.Cut(signature, "=")
	if !ok || hashes[kind] == nil {
		return fmt.Errorf("the header %s is not a signature: expected sha1, sha256 or sha512, an equals sign and hexadecimal digits", name)
	}
	return checkMAC(hashes[kind], token, name, digest, body)
}

func checkMAC(kind func() hash.Hash, token, name, digest string, body []byte) error {
	given, err := hex.DecodeString(digest)
	if err != nil {
		return fmt.Errorf("the header %s is not a signature: its digest is not hexadecimal", name)
	}
	mac := hmac.New(kind, []byte(token))
	mac.Write(body)
	if !hmac.Equal(given, mac.Sum(nil)) {
		return fmt.Errorf("the signature in the header %s does not match the receiver's token and this body", name)
	}
	return nil
}
