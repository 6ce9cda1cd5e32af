// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// version is the version to release.
type version struct {
	// name is for the programs, such as v1.2.3; plain for file names, such as 1.2.3.
	name, plain string
	// tagged: the version has a tag, so it is for users.
	tagged bool
}

var (
	describedTag    = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.]+)?)(?:-([0-9]+)-(g[0-9a-f]+))?$`)
	describedCommit = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
)

// parseVersion reads the output of git describe. Versions between two tags sort after the older
// one: 1.2.3+4.gabc1234.
func parseVersion(name string) (version, error) {
	clean, dirty := strings.CutSuffix(name, "-dirty")
	v := version{name: name}
	var rest []string
	switch found := describedTag.FindStringSubmatch(clean); {
	case found != nil:
		v.plain, v.tagged = found[1], found[2] == "" && !dirty
		if found[2] != "" {
			rest = append(rest, found[2], found[3])
		}
	case describedCommit.MatchString(clean):
		v.plain, rest = "0.0.0", []string{"g" + clean}
	default:
		return v, fmt.Errorf("%q is not a version: want the output of git describe, such as v1.2.3", name)
	}
	if dirty {
		rest = append(rest, "dirty")
	}
	if len(rest) > 0 {
		v.plain += "+" + strings.Join(rest, ".")
	}
	return v, nil
}

// platform is an operating system and a processor, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func parsePlatform(text string) (platform, error) {
	system, arch, ok := strings.Cut(text, "/")
	if !ok || !strings.Contains(","+allPlatforms+",", ","+text+",") {
		return platform{}, fmt.Errorf("%q is not a platform that Yuba is released for: want some of %s", text, allPlatforms)
	}
	return platform{system, arch}, nil
}
