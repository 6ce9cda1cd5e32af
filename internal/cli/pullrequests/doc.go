// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package pullrequests has "yuba pr": which pull requests the planners of a namespace know, what they
// would change, and a request for new plans.
//
// The nouns:
//
//   - A known pull request is one in the status of a PullRequestPlanner.
//   - A reference names one: NUMBER, or SOURCE#NUMBER if several repositories have that number.
//
// Everything is read of the planners' status: no command asks a forge, or needs a token of one.
package pullrequests
