// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitlab speaks the API of GitLab, version 4.
//
// GitLab does not tell which commit an approval is about. The package derives it from the times of the approval and of
// the merge request's versions; the servers that do not tell the time of approvals leave it empty.
//
// https://docs.gitlab.com/api/rest
package gitlab
