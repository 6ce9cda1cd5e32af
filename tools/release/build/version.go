// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"regexp"
	"strings"
)

// Version is the version to release.
type Version struct {
	// Name is for the programs, such as v1.2.3; Plain for file names, such as 1.2.3.
	Name, Plain string
	// Tagged: the version has a tag, so it is for users.
	Tagged bool
}

var (
	describedTag    = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.]+)?)(?:-([0-9]+)-(g[0-9a-f]+))?$`)
	describedCommit = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
)

// ParseVersion reads the output of git describe. Versions between two tags sort after the older
// one: 1.2.3+4.gabc1234.
func ParseVersion(name string) (Version, error) {
	clean, dirty := strings.CutSuffix(name, "-dirty")
	v := Version{Name: name}
	var rest []string
	switch found := describedTag.FindStringSubmatch(clean); {
	case found != nil:
		v.Plain, v.Tagged = found[1], found[2] == "" && !dirty
		if found[2] != "" {
			rest = append(rest, found[2], found[3])
		}
	case describedCommit.MatchString(clean):
		v.Plain, rest = "0.0.0", []string{"g" + clean}
	default:
		return v, fmt.Errorf("%q is not a version: want the output of git describe, such as v1.2.3", name)
	}
	if dirty {
		rest = append(rest, "dirty")
	}
	if len(rest) > 0 {
		v.Plain += "+" + strings.Join(rest, ".")
	}
	return v, nil
}
