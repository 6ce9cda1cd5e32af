// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller tells people and services what happens to objects: the kinds Provider and Alert of
// notification.toolkit.fluxcd.io/v1beta3. Webhooks that come in are package receive's, the words and forms of services
// package send's.
//
// The nouns:
//
//   - An event is what a controller records about an object, in the form that Flux sends events in, with the object's
//     revision. The Recorder, which all controllers are given, records it in the API and offers it to the Dispatcher.
//   - The Dispatcher finds the alerts that want an event and puts a delivery for each into the queue of its provider.
//   - A delivery is one message for one provider. Deliveries of a provider are sent one after the other.
//   - An outage is the time from a provider's first failed delivery to its next that succeeds.
//
// # Invariants
//
//   - Recording never waits: neither for alerts, nor for services, nor for a disk. What comes faster than it can be
//     dispatched is dropped, and the log tells how much.
//   - Memory is bounded: a queue has a most number of deliveries and of bytes, beyond which the oldest goes. A provider that
//     is down costs that much and one request at a time, at growing intervals.
//   - A delivery whose first attempt failed is on disk until it is sent or given up, and so is every one that waits when
//     the server stops. What is lost when the server is killed: events of the last moments that were not attempted yet.
//     What may come twice: a delivery whose answer was lost.
//   - Deliveries hold no secret; addresses and tokens are read anew for each attempt. No error holds one either.
//   - What is told about deliveries is recorded past the Recorder, so that no alert is about an alert.
//
// The package does not decide what is worth an event; that is its recorder's.
package controller
