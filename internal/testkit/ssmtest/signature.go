// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ssmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$`)

// verify signs the request again, and compares.
func verify(r *http.Request, body []byte) error {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return refuse("MissingAuthenticationTokenException", "Missing Authentication Token")
	}
	key, region, service, signed := m[1], m[2], m[3], strings.Split(m[4], ";")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case err != nil:
		return refuse("IncompleteSignatureException", "X-Amz-Date: %v", err)
	case time.Since(at).Abs() > 5*time.Minute:
		return refuse("InvalidSignatureException", "Signature expired: %s", r.Header.Get("X-Amz-Date"))
	case key != AccessKey:
		return refuse("UnrecognizedClientException", "The security token included in the request is invalid.")
	case region != Region:
		return refuse("InvalidSignatureException", "Credential should be scoped to a valid region.")
	}
	again := r.Clone(r.Context())
	again.Header = http.Header{}
	again.URL.Host = r.Host
	again.ContentLength = 0 // signed only if it is among the headers below
	for _, name := range signed {
		switch name {
		case "host":
		case "content-length":
			again.ContentLength = r.ContentLength
		default:
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	sum := sha256.Sum256(body)
	credentials := aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}
	if err := v4.NewSigner().SignHTTP(r.Context(), credentials, again, hex.EncodeToString(sum[:]), service, region, at); err != nil {
		return refuse("IncompleteSignatureException", "%v", err)
	}
	if again.Header.Get("Authorization") != r.Header.Get("Authorization") {
		return refuse("InvalidSignatureException", "The request signature we calculated does not match the signature you provided.")
	}
	return nil
}
