// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import "testing"

func TestEndpointsOfTheProviderItself(t *testing.T) {
	for _, c := range []struct {
		provider, endpoint string
		own                bool
	}{
		{Amazon, "s3.amazonaws.com", true},
		{Amazon, "s3.eu-central-1.amazonaws.com", true},
		{Amazon, "s3.cn-north-1.amazonaws.com.cn", true},
		{Amazon, "minio.example.com", false},
		{Amazon, "s3.eu-central-1.amazonaws.com.example.com", false},
		{Amazon, "s3.eu-central-1.amazonaws.com:8443", false},
		{Amazon, "abc.execute-api.eu-central-1.amazonaws.com", false},
		{Google, "", true},
		{Google, "storage.googleapis.com", true},
		{Google, "storage.example.com", false},
		{Azure, "https://team.blob.core.windows.net", true},
		{Azure, "http://team.blob.core.windows.net", false},
		{Azure, "https://team.blob.core.windows.net:8443", false},
		{Azure, "https://example.com/.blob.core.windows.net", false},
		{Azure, "https://team.blob.core.windows.net.example.com", false},
		{Generic, "s3.amazonaws.com", false},
	} {
		b := &Bucket{Provider: c.provider, Endpoint: c.endpoint}
		if b.IsOwn() != c.own {
			t.Errorf("%s of %s: %v", c.endpoint, c.provider, !c.own)
		}
		if !c.own {
			continue
		}
		b.Name, b.Identity = "code", true
		if _, err := b.open(); err != nil {
			t.Errorf("open %s of %s: %v", c.endpoint, c.provider, err)
		}
		plain := *b
		plain.Identity = false
		if plain.identity("look") == b.identity("look") {
			t.Errorf("%s: sources with and without the server's identity share their looks", c.provider)
		}
	}
}
