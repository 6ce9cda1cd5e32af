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

var errMalformed = errors.New("the registry's answer makes no sense")

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
		return fmt.Sprintf("the registry sent something else: its digest is %s, expected %s", digest.Got, digest.Want)
	case errors.As(err, &entry):
		return entry.Error()
	}
	if strings.Contains(err.Error(), "invalid realm in www-authenticate") {
		return "the registry wants the credentials to go to another server, at an address of a private network or without TLS, and they do not go there"
	}
	return upstream.Explain(err, errPlain, errSize, errForeignPage, errNoArchive, errMalformed)
}

func explainStatus(status int) string {
	answer := fmt.Sprintf("the registry answers %d %s", status, http.StatusText(status))
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return answer + ": it wants other credentials than those of spec.secretRef or spec.serviceAccountName, or there is no such repository"
	case http.StatusNotFound:
		return answer + ": there is no such repository, tag or digest"
	case http.StatusTooManyRequests:
		return answer + ": it limits how often it is asked; a longer spec.interval or credentials help"
	}
	return answer
}
