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

var (
	errForeignPage = &upstream.Problem{Text: "the next page of tags is on another server"}
	errSamePage    = &upstream.Problem{Text: "the next page of tags is one that was read already"}
	errMalformed   = &upstream.Problem{Text: "the registry's response is invalid"}
	errNoArchive   = &upstream.Problem{Text: "it is not a gzipped tar archive; spec.layerSelector selects another layer by its mediaType, " +
		"and its operation 'copy' keeps a layer unchanged"}
	errPlain = &upstream.Problem{Text: "it speaks http, but spec.certSecretRef names certificates; spec.insecure allows http"}
	errSize  = &upstream.Problem{Text: "its size differs from the one in the manifest"}
)

func malformed(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, errMalformed, err)
}

// attempted makes a failure for the source's status.
func attempted(reason, action string, err error) error {
	return upstream.Attempted(reason, action, err, explain)
}

// statusOf returns the HTTP status of the registry's response; 0 if there was none.
func statusOf(err error) int {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// explain describes a failed request in our own words.
func explain(err error) string {
	var (
		digest *archive.DigestError
		entry  *archive.EntryError
	)
	switch {
	case statusOf(err) != 0:
		return upstream.Status("registry", statusOf(err), hints)
	case errors.As(err, &digest):
		return fmt.Sprintf("the registry sent other content: its digest is %s, expected %s", digest.Got, digest.Want)
	case errors.As(err, &entry):
		return entry.Error()
	case strings.Contains(err.Error(), "invalid realm in www-authenticate"):
		return "the registry asks to send the credentials to another server, at a private address or without TLS, which is refused"
	}
	return ""
}

const hintAccess = "the credentials of spec.secretRef or spec.serviceAccountName are not sufficient, or the repository does not exist"

var hints = map[int]string{
	http.StatusUnauthorized:    hintAccess,
	http.StatusForbidden:       hintAccess,
	http.StatusNotFound:        "the repository, tag or digest does not exist",
	http.StatusTooManyRequests: "too many requests; increase spec.interval or use credentials",
}
