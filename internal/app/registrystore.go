// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/url"
)

// registryPrefix is where the registry is in a bucket that it shares with the blobs.
const registryPrefix = "registry/"

// besideBlobs is the URL of the registry's bucket in the bucket of the blobs; empty if the blobs are
// in a directory. The data directory of a replica in a cluster ends with its Pod, so the registry
// must not be there.
func besideBlobs(blobURL string) string {
	u, err := url.Parse(blobURL)
	if err != nil || blobURL == "" || u.Scheme == "file" || u.Scheme == "mem" {
		return ""
	}
	query := u.Query()
	query.Set("prefix", query.Get("prefix")+registryPrefix)
	u.RawQuery = query.Encode()
	return u.String()
}
