// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// rules are the lists of allowed and denied providers.
type rules struct {
	allow, deny []string
	// named are the hosts that an allowed pattern names exactly, each with its port.
	named []string
}

// parseRules parses patterns HOST/NAMESPACE/NAME.
func parseRules(allow, deny []string) (rules, error) {
	r := rules{allow: allow, deny: deny}
	for _, pattern := range slices.Concat(allow, deny) {
		_, err := path.Match(pattern, "")
		if err != nil || strings.Count(pattern, "/") != 2 || strings.ContainsAny(pattern, " \t") || strings.ToLower(pattern) != pattern {
			return r, fmt.Errorf("the pattern %q of providers: expected HOST/NAMESPACE/NAME in lower case, such as registry.opentofu.org/hashicorp/* or */*/*", pattern)
		}
	}
	for _, pattern := range allow {
		if host, _, _ := strings.Cut(pattern, "/"); !strings.ContainsAny(host, `*?[\`) {
			r.named = append(r.named, withPort(host))
		}
	}
	return r, nil
}

// check returns a [DeniedError] for a provider that the lists do not allow.
func (r rules) check(p layout.Provider) error {
	if pattern := match(r.deny, p); pattern != "" {
		return &DeniedError{p, "the mirror denies " + pattern}
	}
	if len(r.allow) > 0 && match(r.allow, p) == "" {
		return &DeniedError{p, "the mirror allows only " + strings.Join(r.allow, ", ")}
	}
	return nil
}

func match(patterns []string, p layout.Provider) string {
	for _, pattern := range patterns {
		if ok, err := path.Match(pattern, p.String()); ok && err == nil {
			return pattern
		}
	}
	return ""
}

// withPort returns a host with its port, which is that of https if it has none.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "443")
}
