// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package applications has the commands "yuba app": they show the instances of application kinds to
// their users, and approve their plans. Users need rights to the kind only, not to stacks.
//
// A kind is named as in kubectl: by its plural, singular or kind, in any case.
package applications
