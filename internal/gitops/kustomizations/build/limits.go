// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import "fmt"

// The limits of a tree. They are far above usual repositories, and stop hostile ones.
const (
	// maxFiles limits the files and the objects of a build.
	maxFiles = 50_000
	// maxFile limits each file. The API refuses objects above 1.5 MiB.
	maxFile = 8 << 20
	// maxBytes limits all files of a build together.
	maxBytes = 64 << 20
	// maxFileNodes limits a file's YAML values, repeated ones included, of about 200 bytes each.
	maxFileNodes = 1_000_000
	// maxNodes limits the YAML values of all files of a build together.
	maxNodes = 4_000_000
	// maxDepth limits the nesting of YAML. The deepest schemas of well-known CRDs have about 60.
	maxDepth = 200
	// maxVisits limits references between kustomizations, which can double at every level.
	maxVisits = 5_000
	// maxKustomized limits files with objects for kustomize: comparing 1000 objects takes a second.
	maxKustomized = 5_000
	// maxSubstituted limits an object with substituted variables.
	maxSubstituted = 4 << 20
	// maxBuilt limits the estimated memory of all objects of a build.
	maxBuilt = 256 << 20
)

// LimitError is an exceeded limit.
type LimitError struct {
	// Subject is the file or directory.
	Subject string
	// Has is its size in words; empty if unknown.
	Has string
	// Limit is the limit in words.
	Limit string
	// Grown is the exceeded resource of one build in words, if the subject itself is not too large.
	Grown string
}

func (e *LimitError) Error() string {
	if e.Grown != "" {
		return fmt.Sprintf("%s is too large to be built: it grows while it is built, to more than %s. Check replacements, vars, patches, labels "+
			"and names that copy long texts to many places, or split it into several Kustomizations", e.Subject, e.Grown)
	}
	if e.Has == "" {
		return fmt.Sprintf("%s is too large to be built: at most %s are read", e.Subject, e.Limit)
	}
	return fmt.Sprintf("%s is too large to be built: it has %s, and at most %s are read", e.Subject, e.Has, e.Limit)
}
