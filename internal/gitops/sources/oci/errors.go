// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

var errMalformed = errors.New("the registry's response is invalid")

// statusOf is the status that a registry answered with; 0 if it did not.
func statusOf(err error) int {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// explain says why a registry did not give what it was asked for, in words of our own.
func explain(err error) string {
	var (
		digest *archive.DigestError
		entry  *archive.EntryError
	)
	switch {
	case statusOf(err) != 0:
		return explainStatus(statusOf(err))
	case errors.As(err, &digest):
		return fmt.Sprintf("the registry sent other content: its digest is %s, expected %s", digest.Got, digest.Want)
	case errors.As(err, &entry):
		return entry.Error()
	}
	if strings.Contains(err.Error(), "invalid realm in www-authenticate") {
		return "the registry asks to send the credentials to another server, at a private address or without TLS, which is refused"
	}
	return upstream.Explain(err, errPlain, errSize, errForeignPage, errNoArchive, errMalformed)
}

func explainStatus(status int) string {
	answer := fmt.Sprintf("the registry answers %d %s", status, http.StatusText(status))
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return answer + ": the credentials of spec.secretRef or spec.serviceAccountName are not sufficient, or the repository does not exist"
	case http.StatusNotFound:
		return answer + ": the repository, tag or digest does not exist"
	case http.StatusTooManyRequests:
		return answer + ": too many requests; increase spec.interval or use credentials"
	}
	return answer
}
