// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ssmtest is AWS Systems Manager's Parameter Store and AWS Secrets Manager, as far as stacks, bridges and
// secrets use them: a server
// that speaks its protocol (JSON 1.1, signed with version 4) and has its limits. It also answers STS's
// GetCallerIdentity, which the AWS provider asks first.
//
// Terms:
//
//   - A parameter has a name (a path such as /configuration/base), versions, and a tier: Standard up to
//     4 KB, Advanced up to 8 KB.
//   - A call is an action with its JSON body. Requests without a valid signature never become calls.
//
// Invariants:
//
//   - Nothing is accepted that AWS documents as refused: names, sizes, nested parameters, tags of an
//     overwrite, more than ten names or results in a request.
//   - The value of a SecureString is only in answers to calls that ask for decryption.
//   - Pages are stable: a token continues after the last name, whatever was written meanwhile.
//
// It has no encryption, policies, labels or history, and no permissions: each key may do everything.
package ssmtest
