// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package vaultinit initialises a Vault (or OpenBao, which has the same API) at its birth, and leaves no
// secret behind: unseal keys go to offline recipients, and the root token is revoked.
//
// Nouns:
//   - A recipient is a public key of age. Each gets one share of the key that unseals, and no other.
//   - The key file has the shares and, until the setup is complete, the root token, all of them
//     encrypted. It may be copied anywhere.
//   - Members are further servers of the same Vault, with integrated storage. They find the first one by themselves, and are
//     unsealed with the same keys.
//   - Peers are the servers that Vault itself has in its list (raft). Those that are gone count for the majority until they are
//     removed: by Vault, after a day, or at once by "yuba vault members remove".
//   - The reader is the service account of External Secrets, which reads secrets and nothing else.
//
// The steps, each of which may be the last one of a process:
//
//  1. Reserve the key file: from now on a lost answer is noticed, and a full disk cannot lose keys.
//  2. Ask Vault to initialise. Its answer exists once.
//  3. Seal the answer into the key file.
//  4. Unseal, the members too, mount the KV engine, give the reader its role, and wait until all servers vote.
//  5. Revoke the root token, prove that Vault refuses it, and remove it from the key file.
//
// Between 2 and 3 is the critical moment: if the process dies there, nobody has the keys, and nothing can
// bring them back. A Vault that was never unsealed has no content, so its storage can be emptied and the
// same call begins again; package decide finds out, and says so. Vault's own encryption for PGP keys does
// not change that: it, too, is in the one answer.
//
// Invariants:
//   - Neither keys nor the root token are on disk, in logs, errors or arguments in clear text.
//   - Vault is only spoken to over TLS, or on loopback.
//   - Once the key file has keys, it is only ever replaced as a whole, and one call at a time works with it.
//   - No removal of peers leaves a Vault in which no majority answers.
//   - A second call finds out how far the first came, and repeats nothing that counts.
package vaultinit
