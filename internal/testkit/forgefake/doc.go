// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package forgefake serves the published APIs of forges that cannot run in a test: GitHub, GitLab, Bitbucket and Azure
// DevOps. All of them show one World, a repository in memory, and only what connections of internal/pullrequests use.
//
// What is not published is not guessed: a request without a route is an error of the test. Pages are small, so that every
// list has several. Beside the API, a test can have the next requests fail, and read which were sent.
package forgefake
