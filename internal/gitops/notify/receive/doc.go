// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package receive takes webhooks: the kind Receiver of notification.toolkit.fluxcd.io/v1.
//
// The nouns:
//
//   - A receiver has a path below /hook/, which is the digest of its token, name and namespace, and says who may call it
//     and which objects are then asked to look at their upstream now.
//   - A hook is one request to such a path. It is verified as its sender signs: see verify.go.
//   - Asking an object means to annotate it with reconcile.fluxcd.io/requestedAt. Who works on it looks at once.
//
// # Invariants
//
//   - Whoever does not know a path learns nothing: everything else below /hook/ is not found, and how long that takes does
//     not depend on the paths there are.
//   - Nothing is done for a hook that does not verify, and signatures and tokens are compared in constant time. An empty
//     token is no token.
//   - Bodies, their reading time, the number that are read at a time and the time that expressions take are bounded, and a
//     namespace gets no more than its share of each. Expressions end with their receiver. Hooks that come faster than an object
//     can be asked are answered together: after a hook the object is asked at least once more, whatever comes between.
//   - Objects in other namespaces are asked only when the server allows it.
//   - No token and no body is logged or told to anybody.
package receive
