// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bridge is the controller of the kind ContractBridge: it keeps documents in stores and revisions
// of contracts equal.
//
// Nouns:
//
//   - A bridge out writes the revisions of a stack, or outputs that no contract describes, to a document.
//     A bridge in publishes a document as revisions; for consumers it is the producer of its name.
//   - Package decide decides, package store reads and writes documents.
//
// Invariants:
//
//   - A document that a bridge did not write is overwritten only if spec.replace names its digest.
//   - What does not fit a contract is not published, and consumers keep the last revision.
//   - A bridge reads and writes Secrets and ConfigMaps of its own namespace only, or those of the cluster
//     whose kubeconfig is in its namespace. Private parts and sensitive outputs never go to a ConfigMap.
//   - Outputs of another namespace need a grant of the stack, as contracts need one.
//   - No value is in a status, an event or a log.
//   - A new revision is written at once. Documents are read every spec.interval, and ConfigMaps and
//     Secrets when they change.
package bridge
