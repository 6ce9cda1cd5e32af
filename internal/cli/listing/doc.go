// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package listing shows lists: objects of any kinds, for "yuba get", "yuba list" and "yuba tenant
// list", and lists of the server, such as the queue. It also shows the objects that a command
// changed.
//
//   - A Query selects objects by flags; a View finds them and shows them, once or with every
//     change.
//   - A List is an answer of the server in all forms of -o.
//   - A Changer changes one named object; OnEach goes over all that a command names.
//
// Stacks are shown in the table that the API makes, so that "kubectl get" and "yuba list" show the
// same.
package listing
