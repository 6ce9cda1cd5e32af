// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // senders sign with it
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"mime"
	"net/http"
	"strings"
)

// GitHub checks hooks of GitHub, Gitea and Forgejo, by the stronger of two signatures. The
// headers of Gitea and Forgejo do not name the hash.
func GitHub(token string, header http.Header, body []byte) (string, error) {
	event := header.Get("X-Github-Event")
	for _, name := range []string{"X-Hub-Signature-256", "X-Hub-Signature"} {
		if header.Get(name) != "" {
			return event, errors.Join(form(header), Signature(token, header, name, body))
		}
	}
	for _, name := range []string{"X-Gitea-Signature", "X-Forgejo-Signature"} {
		if signature := header.Get(name); signature != "" {
			return header.Get(strings.Replace(name, "Signature", "Event", 1)),
				errors.Join(form(header), MAC(sha256.New, token, name, signature, body))
		}
	}
	return "", errors.New("the header X-Hub-Signature-256 is missing: configure the secret in the sender")
}

// form refuses content types that these senders do not use.
func form(header http.Header) error {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind != "application/json" && kind != "application/x-www-form-urlencoded" {
		return errors.New("the content type is neither application/json nor application/x-www-form-urlencoded")
	}
	return nil
}

// Token compares a header with the token.
func Token(token string, header http.Header, name string) error {
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

// Signature checks a header such as sha256=757107ea….
func Signature(token string, header http.Header, name string, body []byte) error {
	signature := header.Get(name)
	if signature == "" {
		return fmt.Errorf("the header %s is missing: configure the secret in the sender", name)
	}
	kind, digest, ok := strings.Cut(signature, "=")
	if !ok || hashes[kind] == nil {
		return fmt.Errorf("the header %s is not a signature: expected sha1, sha256 or sha512, an equals sign and hexadecimal digits", name)
	}
	return MAC(hashes[kind], token, name, digest, body)
}

// MAC checks a signature in hexadecimal digits.
func MAC(kind func() hash.Hash, token, name, digest string, body []byte) error {
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
