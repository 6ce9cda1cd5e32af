// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger stores the audit log of policy decisions (package audit).
//
// An entry is a blob: audit/NAMESPACE/STACK/NUMBER. Nothing deletes or replaces one, so the log
// outlives its stack.
//
// Invariants:
//
//   - When Append returns nil, the record is durable. Callers record first and act afterwards; a
//     server that is killed in between appends nothing again when it repeats that.
//   - Two servers never give one number to two records: a blob is created, never replaced.
//   - Damage does not stop the log: a record continues whatever is there, and verification reports the
//     damage.
//   - A decision that is made again with the same result is one record, so the log grows with what
//     happens and not with how often somebody looks.
package ledger
