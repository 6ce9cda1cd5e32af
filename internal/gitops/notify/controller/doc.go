// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller sends notifications about events of objects: the kinds Provider and Alert of
// notification.toolkit.fluxcd.io/v1beta3. Package receive serves incoming webhooks; package send
// knows the formats of services.
//
// Nouns:
//
//   - An event is what a controller records about an object, in Flux's format, with the object's
//     revision. The Recorder, which all controllers use, records it in the API and offers it to the
//     Dispatcher.
//   - The Dispatcher finds the alerts for an event, and queues a delivery for each provider.
//   - A delivery is one message for one provider. A provider's deliveries are sent in order.
//   - An outage lasts from a provider's first failed delivery to its next success.
//
// Invariants:
//
//   - Recording never waits: neither for alerts, nor for services, nor for a disk. Excess events are
//     dropped and counted in the log.
//   - Memory is limited: a full queue drops its oldest deliveries. An unavailable provider costs a
//     full queue, and one request at a time, with growing delays.
//   - Deliveries are on disk after their first failed attempt and when the server stops, until they
//     are sent or given up. A killed server loses events that were not attempted yet. A delivery may
//     arrive twice if its response was lost.
//   - Deliveries and errors do not contain credentials; each attempt reads addresses and tokens.
//   - Events about deliveries bypass the Recorder, so that no alert is about an alert.
//
// The package does not decide which events are recorded; that is up to the controllers.
package controller
