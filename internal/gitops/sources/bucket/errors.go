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

var errMalformed = errors.New("the store's response is invalid")

// shown returns the endpoint for errors, without a password in its URL.
func (b *Bucket) shown() string {
	if u, err := url.Parse(b.Endpoint); err == nil && u.Host != "" {
		return outbound.Show(b.Endpoint)
	}
	return b.Endpoint
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

// explain describes a failed request in our own words.
func explain(err error) string {
	var (
		limit  *archive.LimitError
		entry  *archive.EntryError
		token  *oauth2.RetrieveError
		signIn *azidentity.AuthenticationFailedError
	)
	switch {
	case errors.Is(err, errChanged):
		return errChanged.Error()
	case errors.As(err, &limit):
		return limit.Error()
	case errors.As(err, &entry):
		return fmt.Sprintf("the object %q cannot be a file: %s", entry.Name, entry.Reason)
	case errors.As(err, &token), errors.As(err, &signIn):
		return "the token service does not accept the credentials in the Secret of spec.secretRef"
	case statusOf(err) != 0:
		return explainStatus(statusOf(err))
	}
	return upstream.Explain(err, errMalformed)
}

func explainStatus(status int) string {
	answer := fmt.Sprintf("the store answers %d %s", status, http.StatusText(status))
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return answer + ": the credentials of spec.secretRef are not accepted, or may not list and read the bucket"
	case http.StatusNotFound:
		return answer + ": the bucket does not exist"
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusBadRequest:
		return answer + ": spec.region or spec.endpoint may be wrong"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return answer + ": too many requests, or temporarily unavailable"
	}
	return answer
}
