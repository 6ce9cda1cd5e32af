// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller sends notifications about objects' events: the kinds Provider and Alert of
// notification.toolkit.fluxcd.io/v1beta3. Package receive serves incoming webhooks; package send
// has the formats of services.
//
// Nouns:
//
//   - An event is a controller's message about an object, in Flux's format, with the object's
//     revision. All controllers use the Recorder, which records it in the API and offers it to the
//     Dispatcher.
//   - The Dispatcher finds the alerts for an event, and queues a delivery for each provider.
//   - A delivery is one message for one provider. A provider's deliveries are sent in order.
//   - An outage lasts from a provider's first failed delivery to its next success.
//
// Invariants:
//
//   - Recording never waits, neither for alerts and services nor for a disk. Excess events are
//     dropped and counted in the log.
//   - Memory is limited: a full queue drops its oldest deliveries. An unavailable provider costs a
//     full queue, and one request at a time, with backoff.
//   - Deliveries are on disk from their first failure, or the server's stop, until they are sent or
//     given up. A killed server loses events that it did not attempt yet. If a response is lost, a
//     delivery may arrive twice.
//   - Deliveries and errors do not contain credentials; each attempt reads addresses and tokens.
//   - Events about deliveries bypass the Recorder, so that no alert is about an alert.
//
// The controllers decide which events are recorded.
package controller
