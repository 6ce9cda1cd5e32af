// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import "fmt"

// What a tree may be at most. Nobody's repository comes near; what is hostile ends here instead of in our memory.
const (
	// maxFiles is how many files a build reads, and how many objects it makes.
	maxFiles = 50_000
	// maxFile is how large a file is that a build reads. The API refuses objects above 1.5 MiB.
	maxFile = 8 << 20
	// maxBytes is what all files have that a build reads.
	maxBytes = 64 << 20
	// maxFileNodes is how many values a YAML file may have, those counted again that aliases repeat. A parsed value costs
	// about 200 bytes.
	maxFileNodes = 1_000_000
	// maxNodes is the same for all files of a build.
	maxNodes = 4_000_000
	// maxDepth is how deep YAML may be nested. The deepest schemas of well-known CRDs have about 60.
	maxDepth = 200
	// maxVisits is how often kustomizations may refer to each other: a chain of ten that name the next one twice is
	// visited 1024 times.
	maxVisits = 5_000
	// maxKustomized is how many objects are left to kustomize, which compares each with each: 1000 take a second.
	maxKustomized = 5_000
	// maxSubstituted is how large an object may be after variables were substituted.
	maxSubstituted = 4 << 20
	// maxBuilt is what all objects of a build may have in memory, about: texts, and a little for each value.
	maxBuilt = 256 << 20
)

// LimitError says that a build is larger than builds may be.
type LimitError struct {
	// Subject is what is too large.
	Subject string
	// Has is what it has, in words, where that is known.
	Has string
	// Limit is what it may have, in words.
	Limit string
	// Grown is what building it took more of than there is for one build, in words, when it was not too large itself.
	Grown string
}

func (e *LimitError) Error() string {
	if e.Grown != "" {
		return fmt.Sprintf("%s is too large to be built: it grows while it is built, to more than %s. Look for replacements, vars, patches, labels "+
			"or names that put long texts into many places; or split it into several Kustomizations", e.Subject, e.Grown)
	}
	if e.Has == "" {
		return fmt.Sprintf("%s is too large to be built: at most %s are read", e.Subject, e.Limit)
	}
	return fmt.Sprintf("%s is too large to be built: it has %s, and at most %s are read", e.Subject, e.Has, e.Limit)
}
