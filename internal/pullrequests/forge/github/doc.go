// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package github speaks the API of GitHub, and that of Gitea and Forgejo, which is modelled on it. The dialect of each
// has the differences.
//
// With the token of a person or machine, results are commit statuses. With a GitHub App they are check runs, which have
// annotations; GitHub accepts those of Apps only.
//
// https://docs.github.com/en/rest and https://docs.gitea.com/api
package github
