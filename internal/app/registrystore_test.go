// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import "testing"

func TestTheRegistryIsBesideTheBlobs(t *testing.T) {
	for blobs, want := range map[string]string{
		"":                             "",
		"file:///var/lib/yuba":         "",
		"mem://":                       "",
		"s3://yuba?region=us-east-1":   "s3://yuba?prefix=registry%2F&region=us-east-1",
		"gs://yuba":                    "gs://yuba?prefix=registry%2F",
		"azblob://yuba?prefix=team-a/": "azblob://yuba?prefix=team-a%2Fregistry%2F",
	} {
		if got := besideBlobs(blobs); got != want {
			t.Errorf("%q: %q, want %q", blobs, got, want)
		}
	}
}
