// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package receive serves incoming webhooks: the kind Receiver of notification.toolkit.fluxcd.io/v1.
//
// Nouns:
//
//   - A receiver has a path below /hook/, which is a digest of its token, name and namespace. It
//     names the sender's type, and the objects to reconcile.
//   - A hook is one request to such a path. Senders sign it in different ways: see verify.go.
//   - A reconciliation is requested with the annotation reconcile.fluxcd.io/requestedAt.
//
// Invariants:
//
//   - The response to an unknown path, and its duration, do not reveal existing paths.
//   - An invalid hook has no effect. Signatures and tokens are compared in constant time. An empty
//     token is invalid.
//   - Bodies, their reading time and number, and the time of expressions are limited, with a share
//     for each namespace. Expressions end with their receiver. Frequent hooks share requests, but
//     each hook is followed by a request.
//   - Objects in other namespaces are annotated only if the server allows it.
//   - Tokens and bodies are never logged or reported.
package receive
