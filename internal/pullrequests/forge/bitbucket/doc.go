// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bitbucket speaks the APIs of Bitbucket Cloud, version 2.0, and of Bitbucket Data Center, version 1.0. They have
// nothing in common but the name.
//
// Neither hides HTML comments, or folds text. Bitbucket Cloud does not tell which commit an approval is about.
//
// https://developer.atlassian.com/cloud/bitbucket/rest and https://developer.atlassian.com/server/bitbucket/rest
package bitbucket
