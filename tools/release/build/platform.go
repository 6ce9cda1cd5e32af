// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"runtime"
	"strings"
)

// AllPlatforms are the released platforms.
const AllPlatforms = "linux/amd64,linux/arm64"

// ThisPlatform is the platform of this machine.
var ThisPlatform = Platform{runtime.GOOS, runtime.GOARCH}

// Platform is an operating system and a processor, as Go names them.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// ParsePlatforms reads a list of platforms, separated by commas or spaces.
func ParsePlatforms(list string) ([]Platform, error) {
	var platforms []Platform
	for _, text := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		system, arch, ok := strings.Cut(text, "/")
		if !ok || !strings.Contains(","+AllPlatforms+",", ","+text+",") {
			return nil, fmt.Errorf("%q is not a platform that Yuba is released for: want some of %s", text, AllPlatforms)
		}
		platforms = append(platforms, Platform{system, arch})
	}
	return platforms, nil
}
