// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/url"
	"testing"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

func TestTheLinkOfAVersionLeadsToIt(t *testing.T) {
	for _, version := range []string{"1.2.0", "1.2.0-rc.1", "1.2.0+build.5"} {
		u, err := url.Parse(versionPath(layout.Module{Namespace: "acme", Name: "vpc", System: "aws"}, version))
		if err != nil || u.Path != "/registry/modules/acme/vpc/aws" || u.Query().Get("version") != version {
			t.Errorf("%s: %s %v", version, u, err)
		}
	}
}

func TestNewest(t *testing.T) {
	of := func(version string, kind catalog.NoticeKind) catalog.Release {
		r := catalog.Release{ModuleVersion: layout.ModuleVersion{Version: version}}
		if kind != "" {
			r.Notice = &catalog.Notice{Kind: kind}
		}
		return r
	}
	for want, releases := range map[string][]catalog.Release{
		"1.1.0":      {of("1.2.0-rc.1", ""), of("1.1.1", catalog.Revoked), of("1.1.0", ""), of("1.0.0", "")},
		"1.2.0-rc.1": {of("1.2.0-rc.1", ""), of("1.1.0", catalog.Revoked)},
	} {
		if got := newest(releases); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
