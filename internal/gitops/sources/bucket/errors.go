// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/oauth2"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

var (
	errMalformed = &upstream.Problem{Text: "the store's response is invalid"}
	errChanged   = &upstream.Problem{Text: "it was changed or removed during the fetch; the bucket is listed again"}
	errGone      = errors.New("the object does not exist")
)

// shown returns the endpoint for errors, without a password in its URL.
func (b *Bucket) shown() string {
	if u, err := url.Parse(b.Endpoint); err == nil && u.Host != "" {
		return outbound.Show(b.Endpoint)
	}
	return b.Endpoint
}

// failed makes a failure for the source's status.
func (b *Bucket) failed(action string, err error) error {
	return upstream.Attempted(reasonOperation, fmt.Sprintf("%s the bucket '%s' at %s", action, b.Name, b.shown()), err, explain)
}

func badCredentials(message string, cause error) error {
	return upstream.Failed(reasonAuthentication, cause, "%s", message)
}

// statusOf returns the HTTP status of the store's response; 0 if there was none.
func statusOf(err error) int {
	var (
		amazon *smithyhttp.ResponseError
		azure  *azcore.ResponseError
		google statusError
	)
	switch {
	case errors.As(err, &amazon):
		return amazon.HTTPStatusCode()
	case errors.As(err, &azure):
		return azure.StatusCode
	case errors.As(err, &google):
		return int(google)
	}
	return 0
}

// unlessChanged replaces the error of an object that has changed since it was listed.
func unlessChanged(c content, err error) (content, error) {
	if status := statusOf(err); status == http.StatusPreconditionFailed || status == http.StatusNotFound {
		return content{}, errors.Join(errChanged, err)
	}
	return c, err
}

// explain describes a failed request in our own words.
func explain(err error) string {
	var (
		entry  *archive.EntryError
		token  *oauth2.RetrieveError
		signIn *azidentity.AuthenticationFailedError
	)
	switch {
	case errors.As(err, &entry):
		return fmt.Sprintf("the object %q cannot be a file: %s", entry.Name, entry.Reason)
	case errors.As(err, &token), errors.As(err, &signIn):
		return "the token service does not accept the credentials in the Secret of spec.secretRef"
	case statusOf(err) != 0:
		return upstream.Status("store", statusOf(err), hints)
	}
	return ""
}

const (
	hintAccess   = "the credentials of spec.secretRef are not accepted, or may not list and read the bucket"
	hintEndpoint = "spec.region or spec.endpoint may be wrong"
	hintLater    = "too many requests, or temporarily unavailable"
)

var hints = map[int]string{
	http.StatusUnauthorized:       hintAccess,
	http.StatusForbidden:          hintAccess,
	http.StatusNotFound:           "the bucket does not exist",
	http.StatusMovedPermanently:   hintEndpoint,
	http.StatusTemporaryRedirect:  hintEndpoint,
	http.StatusPermanentRedirect:  hintEndpoint,
	http.StatusBadRequest:         hintEndpoint,
	http.StatusTooManyRequests:    hintLater,
	http.StatusServiceUnavailable: hintLater,
}
