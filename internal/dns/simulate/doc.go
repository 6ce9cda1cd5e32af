// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulate evaluates PowerDNS' records of type LUA without PowerDNS: which addresses a client
// gets, while some endpoints are down.
//
// A Lua virtual machine runs the very code that is published, with a model of PowerDNS' functions. What
// PowerDNS chooses by chance or by a hash of the client's address becomes all possible choices, each
// with its share. The model is as strict as PowerDNS should be: unknown functions, selectors and options
// are errors, and code that runs too long is ended. So an evaluation is also the lint of a record.
//
// The code has no access to files, programs or the network: only the functions of the model exist, and
// a few of Lua's own that cannot allocate much.
package simulate
