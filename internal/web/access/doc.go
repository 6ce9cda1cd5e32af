// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package access lets the web page see and do what the person in front of it may, and nothing else.
//
// Nouns:
//
//   - A [Person] is who uses the page, as the API server named them at the login.
//   - An [API] is the API as one person: every request impersonates them, so the API server authorises
//     it as if they had used kubectl.
//   - A [Scope] is where a person may list one kind: everywhere, or in some namespaces.
//
// Lists come from the watched objects of this process, because a page of three thousand stacks must
// not read them all from the API server. They are filtered by a Scope, which the API server's own
// authoriser decides. Everything else, and every change, is a request as the person.
//
// Invariants:
//
//   - Nothing is shown that the API server would not let the person read, at most [remembered] after
//     it would have.
//   - A failed question has no answer: it is an error, and neither a no nor an empty list.
package access
