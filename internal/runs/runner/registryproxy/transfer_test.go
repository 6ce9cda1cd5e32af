// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registryproxy

import "testing"

func TestSignaturesAreNotInLogs(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/modules/acme/vpc/aws/1.0.0/archive/99-s3cr3t/acme-vpc-aws-1.0.0.tar.gz": "/v1/modules/acme/vpc/aws/1.0.0/archive/…/acme-vpc-aws-1.0.0.tar.gz",
		"/v1/providers/acme/thing/1.0.0/files/99-s3cr3t/thing.zip?x=y":               "/v1/providers/acme/thing/1.0.0/files/…/thing.zip",
		"/v1/modules/acme/vpc/aws/versions":                                          "/v1/modules/acme/vpc/aws/versions",
	} {
		if got := withoutSignature(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
