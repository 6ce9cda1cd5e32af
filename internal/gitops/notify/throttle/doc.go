// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package throttle limits how often the same problem is reported: once a minute.
//
// Problems are the same if their texts are. [Throttle] remembers 1000 of them; when there are more, it
// forgets all, so that each is reported once more. It does not count what it suppresses, and a restart
// forgets everything.
package throttle
