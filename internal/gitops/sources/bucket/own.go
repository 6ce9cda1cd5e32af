// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"net/url"
	"slices"
	"strings"
)

// azureDomains are the domains of Azure's blob storage, in all of its clouds.
var azureDomains = []string{".blob.core.windows.net", ".blob.core.chinacloudapi.cn", ".blob.core.usgovcloudapi.net"}

// IsOwn reports whether the endpoint is one of the provider itself. Others must not receive the
// credentials of this server.
func (b *Bucket) IsOwn() bool {
	switch b.Provider {
	case Amazon:
		return b.Endpoint == "s3.amazonaws.com" || amazonHost.MatchString(b.Endpoint)
	case Google:
		return b.Endpoint == "" || b.Endpoint == googleEndpoint
	case Azure:
		endpoint, err := url.Parse(b.Endpoint)
		return err == nil && endpoint.Scheme == "https" && endpoint.Port() == "" &&
			slices.ContainsFunc(azureDomains, func(domain string) bool { return strings.HasSuffix(endpoint.Hostname(), domain) })
	}
	return false
}
