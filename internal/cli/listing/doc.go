// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package listing shows lists: objects of any kinds, as "yuba get", "yuba list" and "yuba tenant list" show them, and
// lists that the server itself answers with, such as the queue.
//
//   - A Query is what the flags ask for; a View finds the objects and shows them, once or with every change.
//   - A List is an answer of the server in all the forms in which it is shown.
//
// Stacks are shown in the table that the API makes, so that "kubectl get" and "yuba list" show the same.
package listing
