// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay connects the isolated network of one program to the machine's, as far as a list
// allows. It is the content of the program yuba-network.
//
// The nouns:
//
//   - The tunnel is the only interface of the program's network namespace besides loopback. The
//     sandbox creates it, and hands its descriptor to the relay. The relay reads the program's IP
//     packets from it, and answers with a TCP/IP stack of its own.
//   - A connection is one of the program, which ends at the relay, and one of the relay to the real
//     destination. Only bytes pass from one to the other, and no packets.
//   - A pin is an address that a name resolved to a short time ago. An entry of the list with that
//     name allows the address.
//   - A forward is a listening socket on the program's loopback interface, which the sandbox hands
//     over, too.
//
// # Invariants
//
//   - The list decides about an address at the moment of connecting, whatever DNS said.
//   - Refused connections are reset at once, and refused names do not exist. Each is reported once,
//     and no more than [maxReports] of them.
//   - Connections, buffers, names and pins are bounded, so a program that floods the relay harms
//     only itself.
//   - The relay ends with the program, and does not depend on the runner.
package relay
