// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package codeowners reads the file CODEOWNERS of a source, in the syntax of GitHub and of GitLab, and
// finds the owners of paths.
//
// Terms:
//
//   - A rule is a line: a pattern, and its owners. An owner is "@user", "@organisation/team" or an
//     e-mail address.
//   - A section, as GitLab has it, begins with "[Name]", or with "^[Name]" if it is optional. GitHub has
//     no sections, so its files are one.
//   - In a section, the last rule that matches a path counts. A path has one group of owners for each
//     section that is not optional; one of each group must approve.
//
// Invariants:
//
//   - The size of the file, of its lines and of the answer, and the time of a match are bounded. Beyond
//     that there is an error and never a shorter list of owners.
//   - A line that cannot be read is skipped, as both services do, and counted.
//
// The package is pure.
package codeowners
