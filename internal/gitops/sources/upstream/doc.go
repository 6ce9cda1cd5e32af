// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package upstream has what asking registries and buckets has in common.
//
// The nouns:
//
//   - An access is how and as whom an upstream is asked: certificates, a proxy, credentials.
//   - An identity tells accesses apart. Equal identities see the same upstream, and may share what
//     it said; whoever asks through a proxy of his own may be told anything, and shares it with
//     nobody else.
//   - A look is one question about what an upstream has now. Looks with equal keys are asked once
//     for all who want to know at that time, and the answer is good for a while.
//
// Invariants:
//
//   - Nothing connects to the metadata service of the machine, whatever a name resolves to.
//   - An answer is never given to somebody whose identity differs from that of who asked.
//   - Who asks for a fresh look is given one that began after asking.
//   - Identities are of no use outside of the process, and give away no credentials.
//
// The package does not know what is asked, and keeps nothing on disk.
package upstream
