// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package blame finds the versions of a state that changed a resource, or one attribute of it.
//
// An event is a version in which the value differs from that in the version before. The walk goes from
// the newest version to older ones, and ends at the first event unless all are wanted. The oldest stored
// version is an event, too: what was before is not known. A damaged version is skipped, so an event may
// be that of a damaged version just before it; the answer counts them. So is one that Yuba cannot parse.
//
// Values are shown with sensitive parts masked.
package blame
