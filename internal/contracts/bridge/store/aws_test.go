// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"testing"
)

// The message of a signature error contains the request that the service computed.
func TestRefusalsOfAWSShowNoCredentials(t *testing.T) {
	const quoted = "The request signature we calculated does not match the signature you provided.\n\nThe Canonical String for this request should have been\n'POST\n/\n\n" +
		"host:secretsmanager.eu-central-1.amazonaws.com\nx-amz-security-token:hunter2\n"
	for sentence, test := range map[string]struct {
		refusal AWSError
		want    string
	}{
		"a signature":              {AWSError{"com.amazon.coral.service#InvalidSignatureException", quoted}, "InvalidSignatureException: the service does not accept the signature"},
		"a signature, of S3":       {AWSError{"SignatureDoesNotMatch", quoted}, "SignatureDoesNotMatch: the service does not accept"},
		"a header in other errors": {AWSError{"AccessDeniedException", "X-Amz-Security-Token: hunter2"}, "AccessDeniedException: the service does not accept"},
		"a message":                {AWSError{"ns#AccessDeniedException", "User: arn is not authorized"}, "AccessDeniedException: User: arn is not authorized"},
		"no message":               {AWSError{"ThrottlingException", ""}, "ThrottlingException"},
		"a message without an end": {AWSError{"ValidationException", strings.Repeat("x", 5000)}, "ValidationException: xxx"},
	} {
		got := test.refusal.Error()
		if !strings.HasPrefix(got, test.want) || strings.Contains(got, "hunter2") || len(got) > 400 {
			t.Errorf("%s: %s", sentence, got)
		}
	}
}
